"""The cost of a fan-out: what a profiled run measured, and sums of it. Pure."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmarks.profile.counters import Key
from benchmarks.profile.pprof import ProfileSample

Name = TypeVar("Name")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObjects:
    """The objects of one resource in etcd: how many are new, their bytes, and how often they were written."""

    objects: int
    size: int
    writes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """`cpu` is seconds of each process as the kernel counts them; samples are of three of the processes."""

    tasks: int
    wall: float
    cpu: Mapping[str, float]
    samples: Mapping[str, Sequence[ProfileSample]]
    api_server: Mapping[str, Counter[Key]]
    etcd: Mapping[str, Counter[Key]]
    stored: Mapping[str, StoredObjects]
    parts: Mapping[str, Mapping[str, int]]
    """By resource, the bytes of the parts of one object as JSON."""

    def each(self, seconds: float) -> float:
        """Milliseconds a task."""
        return 1000 * seconds / self.tasks


def by(samples: Sequence[ProfileSample], name: Callable[[ProfileSample], Name]) -> dict[Name, float]:
    """Seconds of the samples by name, the most first."""
    seconds: defaultdict[Name, float] = defaultdict(float)
    for sample in samples:
        seconds[name(sample)] += sample.seconds
    return dict(sorted(seconds.items(), key=lambda each: -each[1]))


def stored(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> dict[str, StoredObjects]:
    """By resource, what was stored or changed between the two readings of etcd (size and version by key)."""
    grouped: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, (size, version) in after.items():
        written = version - before.get(key, (0, 0))[1]
        if written:
            grouped[_resource(key)].append((size, written))
    return {
        name: StoredObjects(
            objects=len(each), size=sum(size for size, _ in each), writes=sum(writes for _, writes in each)
        )
        for name, each in grouped.items()
    }


def parts(body: Mapping[str, Any]) -> dict[str, int]:
    """The bytes of the parts of an object as JSON without spaces."""
    metadata = dict(body["metadata"])
    split = {"managedFields": metadata.pop("managedFields", []), "other metadata": metadata}
    split |= {name: body.get(name, {}) for name in ("spec", "status")}
    return {name: len(json.dumps(value, separators=(",", ":"))) for name, value in split.items()}


def _resource(key: str) -> str:
    """Of /registry/pods/NAMESPACE/NAME and /registry/torpor.dev/taskruns/NAMESPACE/NAME."""
    _, _, first, *rest = key.split("/")
    return f"{first}/{rest[0]}" if "." in first and rest else first

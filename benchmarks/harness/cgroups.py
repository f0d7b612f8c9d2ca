"""Reads the usage of pods from the cgroups of kind's nodes: exact counters, while the kubelet's are seconds old.

A pod's counter includes its ended containers, and stays for some seconds after the pod. Reading it every second or two
therefore includes short pods.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

# One sample for each line read, an empty line behind it; with the input the loop ends, so none is left on the node.
_SAMPLE = r"""while read -r _; do
  find /sys/fs/cgroup/kubelet* /sys/fs/cgroup/cpuacct/kubelet* /sys/fs/cgroup/memory/kubelet* -type d \
    -name '*pod????????[-_]????[-_]????[-_]????[-_]????????????*' -prune \
    -printf '%p/cpuacct.usage\n%p/memory.usage_in_bytes\n%p/cpu.stat\n%p/memory.current\n%p/memory.stat\n' 2>/dev/null |
  xargs -r grep -sHE '^[0-9]+$|^(usage_usec|total_inactive_file|inactive_file) '
  echo
done"""
_LINE = re.compile(r"pod(?P<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})[^/]*/(?P<file>[^/:]+):(?P<text>.+)$")
_LIMIT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PodUsage:
    """Of one pod: processor time since it began, in seconds, and its working set, in bytes."""

    cpu: float
    memory: int


def parse(lines: Iterable[str]) -> dict[str, PodUsage]:
    """The usage of each pod by its uid, from lines `path/file:text` of cgroup v1 or v2."""
    values: dict[str, dict[str, int]] = {}
    for line in lines:
        if match := _LINE.search(line):
            *words, number = match["text"].split()
            name = words[0] if words else match["file"]
            values.setdefault(match["uid"].replace("_", "-"), {})[name] = int(number)
    return {uid: _usage(each) for uid, each in values.items()}


def _usage(values: Mapping[str, int]) -> PodUsage:
    """As the kubelet counts: what was used less the page cache that nobody touched lately."""
    nanoseconds = values.get("cpuacct.usage", 1000 * values.get("usage_usec", 0))
    used = values.get("memory.usage_in_bytes", values.get("memory.current", 0))
    idle = values.get("total_inactive_file", values.get("inactive_file", 0))
    return PodUsage(cpu=nanoseconds / 1e9, memory=max(0, used - idle))


class Sampler(Protocol):
    """What says what pods use."""

    async def sample(self) -> dict[str, PodUsage]:
        """Each pod by its uid, now."""


class NodeSampler:
    """A sampler that runs on a node."""

    def __init__(self, requests: asyncio.StreamWriter, responses: asyncio.StreamReader) -> None:
        self._requests = requests
        self._responses = responses

    async def sample(self) -> dict[str, PodUsage]:
        """All pods of the node, now. Raises SystemExit where the node cannot be entered."""
        async with asyncio.timeout(_LIMIT):
            self._requests.write(b"\n")
            await self._requests.drain()
            lines: list[str] = []
            while (line := (await self._responses.readline()).decode()) != "\n":
                if not line:
                    raise SystemExit("this bench reads the cgroups of kind's nodes by `docker exec`, and could not")
                lines.append(line.rstrip("\n"))
        return parse(lines)


@asynccontextmanager
async def entered(node: str) -> AsyncIterator[NodeSampler]:
    """A sampler on the node of this name, for as long as the block lasts."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "docker", "exec", "--interactive", node, "sh", "-c", _SAMPLE, stdin=pipe, stdout=pipe
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("pipes were asked for")
    try:
        yield NodeSampler(process.stdin, process.stdout)
    finally:
        process.stdin.close()
        await process.wait()


class CgroupMeter:
    """What pods have used by now, those that are gone included."""

    def __init__(self, nodes: Iterable[Sampler]) -> None:
        self._nodes = list(nodes)
        self._last: dict[str, PodUsage] = {}
        self._present: dict[str, PodUsage] = {}

    async def look(self) -> None:
        """Read all nodes."""
        self._present = {uid: used for node in self._nodes for uid, used in (await node.sample()).items()}
        self._last |= self._present

    def cpu(self, uids: Iterable[str]) -> float:
        """Seconds of processor time of these pods together."""
        return sum(self._last[uid].cpu for uid in uids if uid in self._last)

    def memory(self, uids: Iterable[str]) -> int:
        """Bytes of those among these pods that are there."""
        return sum(self._present[uid].memory for uid in uids if uid in self._present)

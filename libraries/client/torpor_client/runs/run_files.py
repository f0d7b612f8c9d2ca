"""The files that the tasks of a run have stored, and which instances read them. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_views import json_fields
from torpor_views.instance import InstanceView
from torpor_wire.enums import FileKind

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A stored file. `taskrun` is the uid of the instance that stored it, `readers` those that have it as an input."""

    ref: str
    task: str
    path: tuple[int, ...]
    index: str
    namespace: str
    taskrun: str
    name: str
    kind: str
    size: int
    digest: str
    readers: tuple[str, ...] = ()


def stored(taskruns: Iterable[Mapping[str, Any]]) -> list[RunFile]:
    """Return the files of TaskRuns. What is no description of a file is left out: a name becomes one on this disk."""
    instances = [(taskrun, InstanceView.parse(taskrun)) for taskrun in taskruns]
    readers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for taskrun, instance in instances:
        for origin in _origins(taskrun):
            readers[origin].append(instance.ref)
    return [
        _file(taskrun, instance, entry, readers)
        for taskrun, instance in sorted(instances, key=lambda each: (each[1].task, each[1].path))
        for entry in map(json_fields.fields, json_fields.items(json_fields.fields(taskrun.get("status")).get("files")))
        if _is_valid(entry)
    ]


def _origins(taskrun: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The uid and the name of each file that the instance reads."""
    inputs = json_fields.items(json_fields.fields(json_fields.fields(taskrun.get("spec")).get("files")).get("in"))
    origins = (origin for entry in inputs for origin in json_fields.items(json_fields.fields(entry).get("origins")))
    return {
        (json_fields.text(each.get("taskrun")), json_fields.text(each.get("name")))
        for each in map(json_fields.fields, origins)
    }


def _is_valid(entry: Mapping[str, Any]) -> bool:
    name, digest = json_fields.text(entry.get("name")), json_fields.text(entry.get("digest"))
    return bool(_NAME.fullmatch(name) and _DIGEST.fullmatch(digest)) and entry.get("kind") in list(FileKind)


def _file(
    taskrun: Mapping[str, Any],
    instance: InstanceView,
    entry: Mapping[str, Any],
    readers: Mapping[tuple[str, str], list[str]],
) -> RunFile:
    name = json_fields.text(entry.get("name"))
    return RunFile(
        ref=instance.ref,
        task=instance.task,
        path=instance.path,
        index=instance.index,
        namespace=json_fields.text(json_fields.fields(taskrun.get("metadata")).get("namespace")),
        taskrun=instance.uid,
        name=name,
        kind=json_fields.text(entry.get("kind")),
        size=json_fields.number(entry.get("size")),
        digest=json_fields.text(entry.get("digest")),
        readers=tuple(sorted(readers.get((instance.uid, name), ()))),
    )

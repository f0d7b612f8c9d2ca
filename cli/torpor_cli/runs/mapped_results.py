"""The results of all instances of a mapped task as JSON lines, in the order of the indexes.

Memory holds the results of one page of TaskRuns. The lines wait in a temporary file: the API server lists by name.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from torpor_client.runs import stored_body
from torpor_views import json_fields
from torpor_views.instance import InstanceView
from torpor_wire.state import State

from torpor_cli.cluster.api import Object

Read = Callable[[Object, Mapping[str, Any]], Iterator[bytes]]
"""Reads the body of an archived result: of a TaskRun, with its `status.stored`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineOffset:
    """Where the beginning of a line is in the file, and what the archive has of it."""

    path: tuple[int, ...]
    offset: int
    taskrun: Object | None = None


@dataclass(slots=True)
class MappedResults:
    """The results that were collected. `missing` counts the instances without a result by their states."""

    file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    missing: Counter[str] = field(default_factory=Counter)
    _lines: list[_LineOffset] = field(default_factory=list)
    _uids: set[str] = field(default_factory=set)

    @property
    def instances(self) -> int:
        """How many TaskRuns were collected."""
        return len(self._uids)

    def collect(self, taskruns: Iterable[Object]) -> None:
        """Add the results of TaskRuns."""
        for taskrun in taskruns:
            instance = InstanceView.parse(taskrun)
            if instance.uid in self._uids:  # a list that starts again
                continue
            self._uids.add(instance.uid)
            if instance.state is State.SUCCEEDED:
                self._add(instance, taskrun)
            else:
                self.missing[instance.word] += 1

    def chunks(self, read: Read) -> Iterator[bytes]:
        """Yield the lines by index, such as `{"index": "3", "result": 12}`."""
        for line in sorted(self._lines, key=lambda line_offset: line_offset.path):
            self.file.seek(line.offset)
            begin = self.file.readline().rstrip(b"\n")
            if line.taskrun is None:
                yield begin + b"\n"
                continue
            yield begin
            yield from (chunk.replace(b"\n", b"") for chunk in read(line.taskrun, line.taskrun["status"]["stored"]))
            yield b"}\n"

    def _add(self, instance: InstanceView, taskrun: Object) -> None:
        offset = self.file.seek(0, 2)
        status = json_fields.fields(taskrun.get("status"))
        stored = json_fields.fields(status.get("stored"))
        named = {"index": instance.index, **({"name": instance.display_name} if instance.display_name else {})}
        head = json.dumps(named)[:-1]
        if stored and not stored_body.is_binary(stored):
            self.file.write(f'{head}, "result": \n'.encode())
            self._lines.append(_LineOffset(path=instance.path, offset=offset, taskrun=_described(taskrun, stored)))
            return
        value = _file(stored) if stored else json_fields.decoded(status.get("result"))
        text = json.dumps(value)
        self.file.write(f'{head}, "{"file" if stored else "result"}": {text}}}\n'.encode())
        self._lines.append(_LineOffset(path=instance.path, offset=offset))


def _described(taskrun: Object, stored: Mapping[str, Any]) -> Object:
    metadata = {name: taskrun["metadata"].get(name) for name in ("uid", "namespace")}
    return {"metadata": metadata, "status": {"stored": dict(stored)}}


def _file(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a line says of bytes and files, which are no JSON."""
    return {name: stored[name] for name in ("name", "type", "size") if name in stored}

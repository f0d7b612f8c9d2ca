"""The journal of a local run: every change of an object as a line of JSON, so that a killed run can go on.

A change is written before its request is answered, so no process has seen what the journal lacks. It survives the end
of the process; it is not forced to the disk, so a machine that loses its power may lose the last lines.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from torpor_kubernetes.client.resources import LEASES

from torpor_local.apiserver.history import Object, ObjectAddress, ObjectChange, collection
from torpor_local.options import LocalRunError

_TRANSIENT = frozenset({collection(LEASES)})


@dataclass(slots=True, kw_only=True)
class SavedRun:
    """What a journal contains: objects, the last version, the Workflow, and the skipped time in seconds."""

    objects: dict[ObjectAddress, Object] = field(default_factory=dict)
    version: int = 0
    workflow: tuple[str, str] | None = None
    offset: float = 0.0

    def of_kind(self, kind: str) -> list[Object]:
        """Return the objects of a kind, such as TaskRun, by namespace and name."""
        return [self.objects[address] for address in sorted(self.objects) if self.objects[address]["kind"] == kind]


class Journal:
    """Appends to the file of a run."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Open the file for appending. Removes an incomplete last line, which the next line would continue."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.ftruncate(descriptor, _complete_size(path))
            yield cls(descriptor)
        finally:
            os.close(descriptor)

    def change(self, entry: ObjectChange) -> None:
        """Write a change of an object."""
        if entry.address.kind not in _TRANSIENT:
            self._write({"version": entry.version, "address": entry.address, "object": entry.after})

    def workflow(self, namespace: str, name: str) -> None:
        """Write which Workflow the run plays."""
        self._write({"workflow": [namespace, name]})

    def offset(self, seconds: float) -> None:
        """Write how much time was skipped in all."""
        self._write({"offset": seconds})

    def _write(self, line: Mapping[str, Any]) -> None:
        left = (json.dumps(line, separators=(",", ":")) + "\n").encode()
        while left:  # a full disk takes a part, and refuses the rest
            left = left[os.write(self._descriptor, left) :]


def read(path: Path) -> SavedRun | None:
    """Return what a journal contains, None if there is no run. An incomplete last line is ignored.

    Raises LocalRunError for a line that cannot be read.
    """
    if not path.exists():
        return None
    saved = SavedRun()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                try:
                    _apply(saved, json.loads(line))
                except ValueError as error:
                    raise LocalRunError(f"line {number} of {path} cannot be read: {error}") from error
    return saved if saved.workflow is not None else None


def _complete_size(path: Path) -> int:
    """Return the bytes of the complete lines."""
    with path.open("rb") as file:
        return sum(len(line) for line in file if line.endswith(b"\n"))


def _apply(saved: SavedRun, line: Mapping[str, Any]) -> None:
    match line:
        case {"workflow": [namespace, name]}:
            saved.workflow = namespace, name
        case {"offset": seconds}:
            saved.offset = seconds
        case {"version": version, "address": address, "object": body}:
            saved.version = version
            if body is None:
                saved.objects.pop(ObjectAddress(*address), None)
            else:
                saved.objects[ObjectAddress(*address)] = body
        case _:
            raise ValueError(f"the journal has a line that this version cannot read: {sorted(line)}")

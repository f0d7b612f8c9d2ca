"""Records which object the process works on at the moment, in memory that outlives the process.

The record is a file that is mapped into memory: writing it costs no system call, and the kernel keeps it when the
process is killed. It is cleared after each step, so only a process that ends in the midst of a step leaves a record.
"""

import json
import mmap
import os
from pathlib import Path
from typing import Protocol, Self

from torpor_operator.quarantine.object_ref import ObjectRef, read_ref

_SIZE = 2048
_LENGTH_BYTES = 2
_NONE = bytes(_LENGTH_BYTES)


class Buffer(Protocol):
    """Bytes of a fixed size."""

    def __getitem__(self, index: slice, /) -> bytes | bytearray:
        """Read."""

    def __setitem__(self, index: slice, value: bytes, /) -> None:
        """Write."""


class WorkJournal:
    """One record, or none. Names of Kubernetes are short enough for it."""

    def __init__(self, buffer: Buffer | None = None) -> None:
        """Without a buffer the record does not outlive the process."""
        self._buffer: Buffer = bytearray(_SIZE) if buffer is None else buffer
        self._current = b""
        self._written = b""  # what follows the length: a cleared record leaves it

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, or create it. Raises OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            if os.fstat(descriptor).st_size != _SIZE:
                os.ftruncate(descriptor, 0)
                os.ftruncate(descriptor, _SIZE)
            return cls(mmap.mmap(descriptor, _SIZE))
        finally:
            os.close(descriptor)

    def read(self) -> ObjectRef | None:
        """The object that is recorded. None if there is none, or if the process ended while it wrote the record."""
        length = int.from_bytes(self._buffer[:_LENGTH_BYTES])
        try:
            return read_ref(json.loads(self._buffer[_LENGTH_BYTES : _LENGTH_BYTES + length]))
        except ValueError:
            return None

    def replace(self, record: bytes) -> bytes:
        """Replace the record, as `encode` makes it. Returns the former one; empty means none."""
        former, self._current = self._current, record
        self._buffer[:_LENGTH_BYTES] = _NONE
        if record:
            if record is not self._written:
                self._buffer[_LENGTH_BYTES : _LENGTH_BYTES + len(record)] = record
                self._written = record
            self._buffer[:_LENGTH_BYTES] = len(record).to_bytes(_LENGTH_BYTES)
        return former


def encode(ref: ObjectRef) -> bytes:
    """The record of an object; none if it would be too long."""
    record = json.dumps(ref, ensure_ascii=False).encode()
    return record if len(record) <= _SIZE - _LENGTH_BYTES else b""

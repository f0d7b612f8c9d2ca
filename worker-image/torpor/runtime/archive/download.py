"""Downloads a result from the archive: a value, or a file in its own folder. Retried for minutes.

A list or an object arrives line by line, so it holds one line besides the value. A broken download resumes at that
line.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

from torpor.errors import UnreadableError
from torpor.runtime import status_patch
from torpor.runtime.archive.client import ArchiveConnection
from torpor.runtime.http import ApiResponse, UnclearError

LIMIT_S = 300.0
REPEATS = frozenset({status_patch.UNAUTHORIZED, status_patch.CONFLICT, status_patch.TOO_MANY})
_OUTSIDE = 416


class OutsideError(Exception):
    """There is no item with this number."""


class ArchivedBody(NamedTuple):
    """A result in the archive: its owner and the description on the TaskRun."""

    uid: str
    about: Mapping[str, Any]


class _Body(Protocol):
    """Receives a body in pieces, over one or more requests."""

    def query(self) -> str:
        """Return the query that resumes the download."""

    def take(self, pieces: Iterator[bytes]) -> None:
        """Receive pieces. Raises ValueError if they are not the stored body."""


BodyT = TypeVar("BodyT", bound=_Body)


def body_retry_policy(retry_policy: status_patch.RetryPolicy) -> status_patch.RetryPolicy:
    """Return a retry policy for bodies.

    It is longer than that for TaskRuns, because the database may be unavailable.
    """
    return retry_policy._replace(limit=LIMIT_S, repeats=REPEATS)


def value(archive: ArchiveConnection, stored: ArchivedBody, retry_policy: status_patch.RetryPolicy) -> Any:
    """Return the result: JSON, bytes, or a pathlib.Path in a new folder. Raises UnreadableError."""
    match stored.about["type"]:
        case "list":
            return _received(archive, stored, _Lines(stored.about), retry_policy).items
        case "object":
            return dict(_received(archive, stored, _Lines(stored.about), retry_policy).items)
        case "file":
            return _file(archive, stored, retry_policy)
        case "bytes":
            return bytes(_received(archive, stored, _Whole(stored.about), retry_policy).content)
        case _:
            return json.loads(_received(archive, stored, _Whole(stored.about), retry_policy).content)


def item(archive: ArchiveConnection, stored: ArchivedBody, place: int, retry_policy: status_patch.RetryPolicy) -> Any:
    """Return one item of a list, or `[key, value]` of an object. Raises OutsideError and UnreadableError."""
    return json.loads(_received(archive, stored, _Item(place), retry_policy).content)


class _Item:
    """Receives one line."""

    def __init__(self, place: int) -> None:
        self._place = place
        self.content = b""

    def query(self) -> str:
        return f"?item={self._place}"

    def take(self, pieces: Iterator[bytes]) -> None:
        self.content = b"".join(pieces)


class _Whole:
    """Receives a body in memory."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self._about = about
        self.content = bytearray()

    def query(self) -> str:
        self.content.clear()
        return ""

    def take(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self.content += piece
        _agree(self._about, hashlib.sha256(self.content).hexdigest())


class _Lines:
    """Receives the values of lines."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self._about = about
        self._digest = hashlib.sha256()
        self.items: list[Any] = []

    def query(self) -> str:
        return f"?item={len(self.items)}&count={self._about['length'] - len(self.items)}" if self.items else ""

    def take(self, pieces: Iterator[bytes]) -> None:
        for line in _lines(pieces):
            self.items.append(json.loads(line))
            self._digest.update(line)
        if len(self.items) < self._about["length"]:
            raise ValueError(f"{len(self.items)} of {self._about['length']} items")
        items, digest = self.items, self._digest.hexdigest()
        self._digest, self.items = hashlib.sha256(), []  # another body would be requested from its start
        _agree(self._about, digest)
        self.items = items


class _Disk:
    """Receives a body in an open file."""

    def __init__(self, about: Mapping[str, Any], file: BinaryIO) -> None:
        self._about = about
        self._file = file

    def query(self) -> str:
        self._file.seek(0)
        self._file.truncate()
        return ""

    def take(self, pieces: Iterator[bytes]) -> None:
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
            self._file.write(piece)
        self._file.flush()
        _agree(self._about, digest.hexdigest())


def _file(archive: ArchiveConnection, stored: ArchivedBody, retry_policy: status_patch.RetryPolicy) -> Any:
    import tempfile  # noqa: PLC0415 - only for files
    from pathlib import Path  # noqa: PLC0415

    name = os.path.basename(stored.about.get("name") or "")  # noqa: PTH119 - the name comes from another task
    try:
        path = Path(tempfile.mkdtemp(prefix="torpor-")) / (name if name.strip(".") else "file")
        with path.open("wb") as file:
            _received(archive, stored, _Disk(stored.about, file), retry_policy)
    except OSError as error:
        message = f"a file of {stored.about['size']} bytes cannot be written: {error}; mount an emptyDir at /tmp"
        raise UnreadableError(message) from error
    return path


def _received(
    archive: ArchiveConnection, stored: ArchivedBody, body: BodyT, retry_policy: status_patch.RetryPolicy
) -> BodyT:
    """Request the body until it is complete."""
    problem = ""
    for _ in status_patch.attempts(retry_policy):
        try:
            with archive.get(stored.uid, stored.about["digest"], body.query()) as got:
                if not isinstance(got, ApiResponse):
                    body.take(got)
                    return body
                problem = _refused(got, retry_policy.repeats)
        except UnclearError as error:
            problem = str(error)
    raise UnreadableError(f"the archive does not return a result of {stored.about['size']} bytes: {problem}")


def _refused(answer: ApiResponse, repeats: frozenset[int]) -> str:
    """Return the message of a response to retry. Raises OutsideError and UnreadableError for others."""
    match status_patch.interpret(answer, repeats):
        case status_patch.Indeterminate(message):
            return message
        case status_patch.WriteRefused(status=status) if status == _OUTSIDE:
            raise OutsideError
        case status_patch.WriteRefused(message):
            raise UnreadableError(f"the archive does not return the result: {message}")
        case _:
            raise UnreadableError(f"the archive does not return the result: HTTP {answer.status}")


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends; the last may have none."""
    held = bytearray()
    for piece in pieces:
        begin = 0
        while end := piece.find(b"\n", begin) + 1:
            yield bytes(held) + piece[begin:end]
            held.clear()
            begin = end
        held += piece[begin:]
    if held:
        yield bytes(held)


def _agree(about: Mapping[str, Any], digest: str) -> None:
    """Raise ValueError if the body differs from the description on the TaskRun."""
    if digest != about["digest"]:
        raise ValueError(f"a body with digest {digest[:12]} instead of {about['digest'][:12]}")

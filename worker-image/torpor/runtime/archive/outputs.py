"""Stores the outputs of a task in the archive, before the report (ADR 0064). No output is held in memory.

It does what `torpor-tool` does for containers: a folder is one tar stream, without owners, and with links that stay
within it. The same stream is named by its digest, so a repeated upload is stored once.
"""

import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from torpor_wire.reason import Reason

from torpor.runtime import status_patch
from torpor.runtime.archive.client import ArchiveConnection
from torpor.runtime.archive.upload import LIMIT_S, Passing
from torpor.runtime.http import UnclearError
from torpor.runtime.outcome import TaskFailure

ENTRIES_MAX = 100_000
_PIECE = 256 * 1024
_BLOCK = 512
_BAD, _TOO_LARGE, _NO_ROOM = 400, 413, 507


class OutputError(Exception):
    """An output cannot be stored, and no retry of the upload would help. The message is for the author."""


class _Content(NamedTuple):
    kind: str
    pieces: Callable[[], Iterator[bytes]]


def store(
    archive: ArchiveConnection, outputs: Sequence[Mapping[str, Any]], retry_policy: status_patch.RetryPolicy
) -> list[dict[str, Any]] | TaskFailure:
    """Store the outputs and return their descriptions, or the failure of the task."""
    stored: list[dict[str, Any]] = []
    try:
        for output in outputs:
            path = Path(output["path"])
            if not path.exists() and output.get("optional"):
                continue
            stored.append({"name": output["name"], **_stored(archive, output, _content(path, output), retry_policy)})
    except (OutputError, OSError) as error:
        return TaskFailure(Reason.ERROR, f"an output cannot be stored: {error}", retryable=True)
    finally:
        archive.close()
    return stored


def _content(path: Path, output: Mapping[str, Any]) -> _Content:
    pieces: Callable[[], Iterator[bytes]]
    if path.is_dir():
        kind, pieces = "folder", partial(packed, path)
    elif path.is_file():
        kind, pieces = "file", partial(_read, path)
    else:
        raise OutputError(f"the task did not write {output['name']}: {path} is neither a file nor a folder")
    if output.get("compress") == "gzip":
        return _Content(f"{kind}+gzip", lambda: _compressed(pieces()))
    return _Content(kind, pieces)


def _stored(
    archive: ArchiveConnection,
    output: Mapping[str, Any],
    content: _Content,
    retry_policy: status_patch.RetryPolicy,
) -> dict[str, Any]:
    """Upload an output until the archive has it, and return its description. Raises OutputError."""
    headers = {"Content-Type": "application/octet-stream", "Torpor-Type": content.kind}
    problem = ""
    for _ in status_patch.attempts(retry_policy._replace(limit=LIMIT_S)):
        passing = Passing()
        try:
            answer = archive.put(headers, passing.count(content.pieces()), target=f"files/{output['name']}")
        except UnclearError as error:
            problem = str(error)
            continue
        if answer.status in {_BAD, _TOO_LARGE, _NO_ROOM}:
            raise OutputError(f"{output['name']}: HTTP {answer.status}: {_message(answer.body)}")
        match status_patch.interpret(answer, retry_policy.repeats):
            case status_patch.WriteStored(description) if passing.agrees(description):
                return {"size": passing.size, "digest": passing.digest.hexdigest(), "kind": content.kind}
            case status_patch.WriteStored():
                problem = "the archive stored another content"
            case status_patch.Indeterminate(message):
                problem = message
            case refused:
                raise OutputError(f"{output['name']}: {_message(getattr(refused, 'message', ''))}")
    raise OutputError(f"{output['name']}: the archive does not store it: {problem}")


def _message(body: object) -> str:
    return str(body.get("message", "")) if isinstance(body, dict) else str(body)


def _read(path: Path, size: int | None = None) -> Iterator[bytes]:
    """Yield a file in pieces; of a known size exactly that many bytes."""
    left = size
    with path.open("rb", buffering=0) as file:
        while left is None or left:
            piece = file.read(_PIECE if left is None else min(left, _PIECE))
            if not piece:
                if left:
                    raise OutputError(f"{path} became shorter while it was stored")
                return
            left = None if left is None else left - len(piece)
            yield piece


def _compressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(level=1, wbits=31)
    for piece in pieces:
        if packed_piece := packer.compress(piece):
            yield packed_piece
    yield packer.flush()


def packed(folder: Path) -> Iterator[bytes]:
    """Yield a folder as a tar stream. Raises OutputError for what a consumer could not have."""
    for number, path in enumerate(_walk(folder)):
        if number >= ENTRIES_MAX:
            raise OutputError(f"{folder} has more than {ENTRIES_MAX} entries: store it as one file, such as a tar file")
        yield from _entry(path, path.relative_to(folder).as_posix())
    yield bytes(2 * _BLOCK)


def _walk(folder: Path) -> Iterator[Path]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        yield path
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path)


def _entry(path: Path, name: str) -> Iterator[bytes]:
    about = path.lstat()
    header = tarfile.TarInfo(name)
    header.mtime = int(about.st_mtime)
    header.mode = 0o755 if about.st_mode & 0o111 else 0o644
    if stat.S_ISDIR(about.st_mode):
        header.type, header.mode = tarfile.DIRTYPE, 0o755
    elif stat.S_ISLNK(about.st_mode):
        header.type, header.linkname = tarfile.SYMTYPE, str(path.readlink())
        if (problem := link_problem(name, header.linkname)) is not None:
            raise OutputError(problem)
    elif stat.S_ISREG(about.st_mode):
        header.size = about.st_size
    else:
        raise OutputError(f"{name} is neither a file, a folder nor a link: remove it from the output")
    yield header.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    if header.isreg():
        yield from _read(path, header.size)
        yield bytes(-header.size % _BLOCK)


def link_problem(name: str, target: str) -> str | None:
    """Why a link does not stay within its folder; None if it does. Its target must be in the shortest form."""
    if not target or target.startswith("/") or os.path.normpath(target) != target.rstrip("/"):
        return f"the link {name} points to {target!r}: use a relative target in its shortest form, within the folder"
    joined = os.path.normpath(PurePosixPath(name).parent / target)
    if joined == ".." or joined.startswith("../"):
        return f"the link {name} points to {target!r}, which is outside the folder"
    return None

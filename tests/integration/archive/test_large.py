"""Memory stays bounded for bodies of the maximum size."""

import hashlib
from collections.abc import Iterator

from tests.integration.archive.conftest import ArchiveTask
from tests.integration.archive.databases import UNFINISHED
from tests.integration.archive.process import ArchiveProcess

_LIMIT = 100_000_000
_GROWTH = 48 * 1024 * 1024
_LINE = b'"' + b"x" * 99_997 + b'"\n'


def _body(size: int) -> Iterator[bytes]:
    return iter([_LINE] * (size // len(_LINE)))


def test_a_body_of_100_megabytes_needs_bounded_memory(archive: ArchiveProcess, task: ArchiveTask) -> None:
    task.put(archive, "list", _LINE).expect(201)
    before = archive.resident()
    said = task.put(archive, "list", _body(_LIMIT)).expect(201).json
    assert said["size"] == _LIMIT
    digest = hashlib.sha256()
    for piece in _body(_LIMIT):
        digest.update(piece)
    assert said["digest"] == digest.hexdigest()
    answer = task.get(archive, task.address(said["digest"])).expect(200)
    assert hashlib.sha256(answer.body).hexdigest() == said["digest"]
    assert archive.peak() - before < _GROWTH


def test_a_larger_body_is_refused(archive: ArchiveProcess, task: ArchiveTask) -> None:
    before, unfinished = archive.resident(), archive.database.value(UNFINISHED)
    answer = task.put(archive, "list", iter([*_body(_LIMIT), b"1\n"])).expect(413)
    assert str(_LIMIT) in answer.json["message"]
    assert archive.database.value(UNFINISHED) == unfinished
    assert archive.peak() - before < 2 * _GROWTH

"""The outputs of a python task: their paths, and what is uploaded."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from torpor import files
from torpor.runtime.archive import outputs
from torpor.runtime.archive.client import ArchiveConnection
from torpor.runtime.http import ApiResponse, UnclearError
from torpor.runtime.outcome import TaskFailure
from torpor.runtime.status_patch import RetryPolicy
from torpor_wire import constants

POLICY = RetryPolicy(5.0, frozenset(), lambda: 0.0, lambda _: None, lambda: 0.0)


class ReceivingArchive:
    """Keeps what is uploaded. `failures` of the next requests have no answer."""

    def __init__(self, failures: int = 0, status: int = 201) -> None:
        self.failures = failures
        self.status = status
        self.bodies: dict[str, bytes] = {}
        self.kinds: dict[str, str] = {}

    def put(self, headers: Mapping[str, str], body: Iterable[bytes], *, target: str) -> ApiResponse:
        content = b"".join(body)
        if self.failures:
            self.failures -= 1
            raise UnclearError("no answer")
        self.bodies[target], self.kinds[target] = content, headers["Torpor-Type"]
        digest = hashlib.sha256(content).hexdigest()
        return ApiResponse(self.status, {"size": len(content), "digest": digest, "message": "too large"})

    def close(self) -> None:
        return


def store(archive: ReceivingArchive, *declared: dict[str, Any]) -> list[dict[str, Any]] | TaskFailure:
    return outputs.store(cast("ArchiveConnection", archive), list(declared), POLICY)


def test_a_file_is_stored_as_it_is_or_compressed(tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(b"x" * 600_000)
    archive = ReceivingArchive(failures=2)
    declared = {"name": "x", "path": str(tmp_path / "a b")}
    stored = store(archive, declared, declared | {"name": "y", "compress": "gzip"})
    assert isinstance(stored, list)
    assert [(file["name"], file["kind"]) for file in stored] == [("x", "file"), ("y", "file+gzip")]
    assert archive.bodies["files/x"] == gzip.decompress(archive.bodies["files/y"]) == b"x" * 600_000
    assert stored[0]["digest"] == hashlib.sha256(b"x" * 600_000).hexdigest()


def test_a_folder_is_stored_as_a_tar_stream(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "ü/empty").mkdir(parents=True)
    (folder / f"{'long' * 40} name").write_text("1")
    (folder / "ü/x").write_bytes(bytes(1000))
    (folder / "ü/x").chmod(0o700)
    (folder / "ü/link").symlink_to("../ü/x")
    archive = ReceivingArchive()
    (file,) = cast("list[dict[str, Any]]", store(archive, {"name": "x", "path": str(folder)}))
    assert file["kind"] == "folder"
    with tarfile.open(fileobj=io.BytesIO(archive.bodies["files/x"])) as tar:
        entries = {member.name: member for member in tar}
        read = tar.extractfile("ü/x")
        assert read is not None
        assert read.read() == bytes(1000)
    assert set(entries) == {"ü", "ü/empty", "ü/x", "ü/link", f"{'long' * 40} name"}
    assert (entries["ü/link"].linkname, entries["ü/x"].mode, entries["ü/x"].uid) == ("../ü/x", 0o755, 0)


@pytest.mark.attack
@pytest.mark.parametrize("target", ["/etc/passwd", "..", "../../x", "a/../../x", "a/../b"])
def test_a_link_that_leaves_its_folder_fails_the_task(tmp_path: Path, target: str) -> None:
    (tmp_path / "link").symlink_to(target)
    stored = store(ReceivingArchive(), {"name": "x", "path": str(tmp_path)})
    assert isinstance(stored, TaskFailure)
    assert "link" in stored.message


def test_a_pipe_in_a_folder_fails_the_task(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    stored = store(ReceivingArchive(), {"name": "x", "path": str(tmp_path)})
    assert isinstance(stored, TaskFailure)
    assert "pipe is neither a file" in stored.message


def test_a_missing_output_fails_the_task_unless_it_is_optional(tmp_path: Path) -> None:
    declared = {"name": "x", "path": str(tmp_path / "missing")}
    assert store(ReceivingArchive(), declared | {"optional": True}) == []
    failed = store(ReceivingArchive(), declared)
    assert isinstance(failed, TaskFailure)
    assert "did not write x" in failed.message


def test_a_refused_file_fails_the_task_with_the_words_of_the_archive(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    failed = store(ReceivingArchive(status=413), {"name": "x", "path": str(tmp_path / "x")})
    assert isinstance(failed, TaskFailure)
    assert "too large" in failed.message


def test_a_task_finds_its_files_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = {"in": [{"name": "x", "path": "/data/x"}], "out": [{"name": "y", "path": str(tmp_path / "new/y")}]}
    monkeypatch.setenv(constants.ENV_FILES, json.dumps(spec))
    assert files.input_path("x") == Path("/data/x")
    files.output_path("y").write_text("written")
    with pytest.raises(LookupError, match=r"no file 'z' in files\.in: x"):
        files.input_path("z")
    monkeypatch.delenv(constants.ENV_FILES)
    with pytest.raises(LookupError, match="none"):
        files.output_path("y")

"""`torpor files`: what tasks have stored, who read it, and the content from the archive."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_cluster import FakeCluster, Object, Run


@pytest.fixture(autouse=True)
def run(cluster: FakeCluster) -> Object:
    return cluster.workflow("ingest", "load", "rest")


def described(cluster: FakeCluster, body: bytes, name: str = "table", kind: str = "file") -> dict[str, Any]:
    digest = hashlib.sha256(body).hexdigest()
    cluster.files[name, digest] = body
    return {"name": name, "size": len(body), "digest": digest, "kind": kind}


def folder_of(name: str, *, link: str = "") -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as tar:
        header = tarfile.TarInfo(name)
        if link:
            header.type, header.linkname = tarfile.SYMTYPE, link
        tar.addfile(header)
    return gzip.compress(into.getvalue())


def test_files_are_listed_with_their_readers(cluster: FakeCluster, torpor: Run) -> None:
    made = cluster.taskrun("ingest", "load", files=[described(cluster, b"rows")])
    reader = cluster.taskrun("ingest", "rest")
    origin = {"taskrun": made["metadata"]["uid"], "name": "table", "digest": "x", "size": 4, "kind": "file"}
    reader["spec"]["files"] = {"in": [{"name": "in", "path": "/x", "origins": [origin]}]}
    code, out, _ = torpor("files", "ingest")
    assert code == 0
    assert out.splitlines()[0].split() == ["INSTANCE", "FILE", "KIND", "SIZE", "SHA256", "READ-BY"]
    assert out.splitlines()[1].split() == [
        "load",
        "table",
        "file",
        "4",
        hashlib.sha256(b"rows").hexdigest()[:12],
        "rest",
    ]
    assert torpor("files", "ingest/rest")[2] == "no task of it has stored a file\n"


def test_a_file_and_a_folder_are_fetched(cluster: FakeCluster, torpor: Run, tmp_path: Path) -> None:
    tree = folder_of("sub/a b")
    cluster.taskrun(
        "ingest", "load", files=[described(cluster, b"rows"), described(cluster, tree, "tree", "folder+gzip")]
    )
    assert torpor("files", "ingest/load", "table", "-d", str(tmp_path))[0] == 0
    assert (tmp_path / "table").read_bytes() == b"rows"
    assert torpor("files", "ingest", "tree", "-d", str(tmp_path))[0] == 0
    assert (tmp_path / "tree/sub/a b").exists()
    code, _, err = torpor("files", "ingest", "tree", "-d", str(tmp_path))
    assert (code, "exists already" in err) == (1, True)
    assert "no such task has stored a file none" in torpor("files", "ingest", "none", "-d", str(tmp_path))[2]


def test_files_of_a_mapped_task_have_their_index_in_their_names(
    cluster: FakeCluster, torpor: Run, tmp_path: Path
) -> None:
    for number in range(2):
        cluster.taskrun("ingest", "load", number, files=[described(cluster, b"%d" % number)])
    (tmp_path / "to").mkdir()
    assert torpor("files", "ingest", "table", "-d", str(tmp_path / "to"))[0] == 0
    assert {path.name: path.read_text() for path in (tmp_path / "to").iterdir()} == {
        "load-0-table": "0",
        "load-1-table": "1",
    }


@pytest.mark.attack
@pytest.mark.parametrize(("name", "link"), [("../x", ""), ("/tmp/x", ""), ("x", "/etc/passwd"), ("x", "../../x")])
def test_a_folder_writes_nothing_outside_of_it(
    cluster: FakeCluster, torpor: Run, tmp_path: Path, name: str, link: str
) -> None:
    cluster.taskrun("ingest", "load", files=[described(cluster, folder_of(name, link=link), "tree", "folder+gzip")])
    (tmp_path / "deep/to").mkdir(parents=True)
    torpor("files", "ingest", "tree", "-d", str(tmp_path / "deep/to"))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["to"]
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


@pytest.mark.attack
@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", ".x", "", "x\n"])
def test_a_name_that_no_task_can_have_is_not_listed(cluster: FakeCluster, torpor: Run, name: str) -> None:
    cluster.taskrun("ingest", "load", files=[described(cluster, b"x") | {"name": name}])
    assert torpor("files", "ingest")[2] == "no task of it has stored a file\n"


@pytest.mark.attack
def test_another_content_than_the_digest_says_is_an_error(cluster: FakeCluster, torpor: Run, tmp_path: Path) -> None:
    file = described(cluster, b"rows")
    cluster.files["table", file["digest"]] = b"others"
    cluster.taskrun("ingest", "load", files=[file])
    code, _, err = torpor("files", "ingest", "table", "-d", str(tmp_path))
    assert (code, "another content" in err) == (1, True)

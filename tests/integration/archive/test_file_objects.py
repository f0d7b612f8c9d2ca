"""Files in an object store: by URLs that the archive signs, and by keys of an author, with the tool of a pod."""

import hashlib
import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from torpor_archive.storage import file_objects
from torpor_dev.offline import golang
from torpor_wire import constants

from tests.integration.archive.conftest import MakeArchive, MakeDatabase, account
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.archive.test_files import FileTask, file_task, get_as
from tests.integration.conftest import Server, collection, eventually
from tests.integration.triggers.servers import s3
from tests.integration.triggers.servers.s3 import S3

SIZE = 3 * file_objects.PART + 1000
PARTS = "application/vnd.torpor.parts+json"


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3]:
    with s3.started() as made:
        yield made


@pytest.fixture
def storing(
    make_database: MakeDatabase, make_archive: MakeArchive, bucket: S3, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ArchiveProcess]:
    """An archive with the bucket."""
    for name, value in s3.variables(bucket).items():
        monkeypatch.setenv(name, value)
    archive = make_archive(make_database(), "--objects", f"s3://{s3.BUCKET}/logs", "--sweep-interval", "5").ready()
    yield archive
    archive.stop()


@pytest.fixture
def workflow(server: Server, home: str) -> dict[str, Any]:
    tasks = [{"name": "wait", "trigger": {"class": "time"}}]
    body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": {"generateName": "files-"}}
    made: dict[str, Any] = server.create("workflows", home, body | {"spec": {"tasks": tasks}}).expect(201)["metadata"]
    return made


@pytest.fixture
def maker(server: Server, home: str, workflow: dict[str, Any]) -> FileTask:
    return file_task(server, home, workflow["uid"])


def tool(archive: ArchiveProcess, task: FileTask, folder: Path, *arguments: str, **files: Any) -> dict[str, Any]:
    """Run torpor-tool as in the pod of the task, and return the document that it wrote."""
    (folder / constants.ARCHIVE_TOKEN).write_text(task.task.token)
    environment = os.environ | {
        constants.ENV_NAMESPACE: task.task.namespace,
        constants.ENV_TASKRUN: task.task.name,
        constants.ENV_ARCHIVE_URL: archive.url,
        constants.ENV_ARCHIVE_CA: archive.authority(),
        constants.ENV_FILES: json.dumps(files),
        "TORPOR_OUTCOME": str(folder / "outcome"),
        "TORPOR_OUTCOME_NONCE": "nonce",
    }
    (folder / "outcome").write_text("")
    verb, *rest = arguments
    argv = [str(golang.build(golang.TORPOR_TOOL)), verb, "--credentials", str(folder), *rest]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads((folder / "outcome").read_text() or "{}")
    return document


def stored(archive: ArchiveProcess, task: FileTask, folder: Path, content: bytes) -> dict[str, Any]:
    (folder / "table").write_bytes(content)
    out = [{"name": "table", "path": str(folder / "table")}]
    file: dict[str, Any] = tool(archive, task, folder, "run", "--", "true", out=out)["files"][0]
    return file


def objects(bucket: S3, task: FileTask) -> list[str]:
    """The objects of a task."""
    store = bucket.store()
    paths = [each["path"] for name in ("files", "uploads") for page in store.list(f"logs/{name}/") for each in page]
    return [path for path in paths if f"/{task.task.uid}/" in path]


def test_a_file_goes_through_the_object_store_and_ends_with_its_run(  # noqa: PLR0913, PLR0917 - fixtures
    storing: ArchiveProcess, server: Server, bucket: S3, maker: FileTask, workflow: dict[str, Any], tmp_path: Path
) -> None:
    content = os.urandom(1000) * (SIZE // 1000 + 1)
    file = stored(storing, maker, tmp_path, content)
    assert (file["size"], file["digest"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert len(objects(bucket, maker)) == 4
    assert storing.database.value("SELECT count(*) FROM chunks") == 0
    reader = file_task(server, maker.task.namespace, maker.task.workflow, claimed=False)
    origin = {**file, "taskrun": maker.task.uid}
    tool(
        storing,
        reader,
        tmp_path,
        "fetch",
        **{"in": [{"name": "x", "target": str(tmp_path / "in/x"), "origins": [origin]}]},
    )
    assert (tmp_path / "in/x").read_bytes() == content
    viewer = account(server, maker.task.namespace, f"viewer-{uuid.uuid4().hex[:6]}", "view")
    path = maker.address(file["digest"])
    assert storing.request("GET", f"{path}?offset={SIZE // 2}", viewer).expect(200).body == content[SIZE // 2 :]
    server.request("DELETE", f"{collection('workflows', maker.task.namespace)}/{workflow['name']}").expect(200)
    eventually(lambda: not objects(bucket, maker), "the objects are gone")


def test_without_an_object_store_the_parts_go_to_the_archive(
    archive: ArchiveProcess, server: Server, maker: FileTask, tmp_path: Path
) -> None:
    content = os.urandom(1000) * (SIZE // 1000)
    file = stored(archive, maker, tmp_path, content)
    assert (file["size"], file["digest"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert b'"put_part"' in archive.health("/metrics").body
    reader = file_task(server, maker.task.namespace, maker.task.workflow)
    assert get_as(archive, maker.address(file["digest"]), reader).expect(200).body == content


def parts(archive: ArchiveProcess, task: FileTask, query: str = "", **changed: str) -> ReplicaResponse:
    path = f"/v1/namespaces/{task.task.namespace}/taskruns/{task.task.name}/files/table/parts"
    token = changed.get("token", task.task.token)
    return archive.request("POST", path + query, token, Torpor_Type="file")


@pytest.mark.attack
def test_a_signed_url_is_for_one_object_and_one_method(
    storing: ArchiveProcess, server: Server, maker: FileTask, tmp_path: Path
) -> None:
    http = urllib3.PoolManager()
    signed = parts(storing, maker).expect(200).json
    first, second, *_ = signed["urls"]
    assert http.request("PUT", first, body=b"x").status == 200
    assert http.request("GET", first).status == 403
    assert http.request("PUT", first.replace("/000000?", "/000001?"), body=b"x").status == 403
    assert http.request("DELETE", first).status == 403
    assert "X-Amz-Expires=300" in second
    file = stored(storing, maker, tmp_path, bytes(2 * file_objects.PART))
    reader = file_task(server, maker.task.namespace, maker.task.workflow)
    address = maker.address(file["digest"])
    answer = storing.request("GET", address, reader.task.token, Torpor_TaskRun=reader.task.name, Accept=PARTS)
    (url, *_) = answer.expect(200).json["urls"]
    assert http.request("GET", url).status == 200
    assert http.request("PUT", url, body=b"y").status == 403


@pytest.mark.attack
def test_a_url_changes_no_part_of_a_stored_file(
    storing: ArchiveProcess, bucket: S3, maker: FileTask, server: Server
) -> None:
    http, content = urllib3.PoolManager(), b"x" * (file_objects.PART + 5)
    signed = parts(storing, maker).expect(200).json
    finish = f"/v1/namespaces/{maker.task.namespace}/taskruns/{maker.task.name}/files/table/finish"
    query = f"?upload={signed['upload']}&size={len(content)}&digest={hashlib.sha256(content).hexdigest()}"
    large = bytes(file_objects.PART + 1)
    assert http.request("PUT", signed["urls"][0], body=large).status == 200
    for path in (finish + query, f"{finish.removesuffix('finish')}parts?first=1&upload={signed['upload']}"):
        answer = storing.request("POST", path, maker.task.token, Torpor_Type="file")
        assert "a part has at most" in answer.expect(400).json["message"]
    for url, part in zip(signed["urls"], (content[: file_objects.PART], content[file_objects.PART :]), strict=False):
        assert http.request("PUT", url, body=part).status == 200
    for _ in range(2):  # the response to the first request may be lost
        storing.request("POST", finish + query, maker.task.token).expect(201)
    assert http.request("PUT", signed["urls"][0], body=large).status == 200
    viewer = account(server, maker.task.namespace, f"viewer-{uuid.uuid4().hex[:6]}", "view")
    address = maker.address(hashlib.sha256(content).hexdigest())
    assert storing.request("GET", address, viewer).expect(200).body == content


@pytest.mark.attack
def test_urls_are_for_the_pod_of_a_task_that_declares_the_file(
    storing: ArchiveProcess, server: Server, maker: FileTask, home: str
) -> None:
    other = file_task(server, home, uuid.uuid4().hex)
    upload = parts(storing, maker).expect(200).json["upload"]
    assert parts(storing, maker, token=other.task.token).expect(403).reason == "Forbidden"
    assert parts(storing, other, f"?upload={upload}").expect(404).reason == "NotFound"
    assert parts(storing, maker, "?upload=../../x").expect(400).reason == "Invalid"
    assert parts(storing, maker, f"?first={10**9}").expect(413).reason == "TooLarge"
    finish = f"/v1/namespaces/{home}/taskruns/{maker.task.name}/files/table/finish"
    query = f"?upload={upload}&size=10&digest={'0' * 64}"
    assert (
        "upload the missing parts"
        in storing.request("POST", finish + query, maker.task.token).expect(400).json["message"]
    )
    assert get_as(storing, maker.address("0" * 64), other).status == 404


def test_an_upload_that_is_begun_again_leaves_nothing(
    storing: ArchiveProcess, bucket: S3, maker: FileTask, tmp_path: Path
) -> None:
    signed = parts(storing, maker).expect(200).json
    assert urllib3.PoolManager().request("PUT", signed["urls"][0], body=b"abandoned").status == 200
    stored(storing, maker, tmp_path, bytes(file_objects.PART + 1))
    eventually(lambda: len(objects(bucket, maker)) == 2, "the abandoned object is gone")


def fetch(folder: Path, source: dict[str, Any], **secrets: str) -> tuple[int, str]:
    """Run the init container for one input, and return its exit code and what it said."""
    spec = {"in": [{"name": "x", "target": str(folder / "x"), **source}]}
    environment = {
        "PATH": os.environ["PATH"],
        constants.ENV_FILES: json.dumps(spec),
        constants.ENV_ALLOW_NETWORKS: "127.0.0.1",
        **secrets,
    }
    argv = [str(golang.build(golang.TORPOR_TOOL)), "fetch"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stderr


def test_objects_of_a_bucket_are_fetched_with_keys(bucket: S3, tmp_path: Path) -> None:
    store = bucket.store()
    contents = {f"sources/n{number:04}/a b+ü?.txt": f"{number}".encode() for number in range(30)}
    for key, content in contents.items():
        store.put(key, content)
    keys = {"TORPOR_FILE_SECRET_0": s3.ACCESS_KEY, "TORPOR_FILE_SECRET_1": s3.SECRET_KEY}
    source = {
        "url": f"s3://{s3.BUCKET}/sources/",
        "endpoint": bucket.endpoint,
        "accessKeyId": "TORPOR_FILE_SECRET_0",
        "secretAccessKey": "TORPOR_FILE_SECRET_1",
    }
    assert fetch(tmp_path, {"object": source}, **keys)[0] == 0
    found = {f"sources/{path.relative_to(tmp_path / 'x')}": path.read_bytes() for path in tmp_path.rglob("*.txt")}
    assert found == contents
    one = source | {"url": f"s3://{s3.BUCKET}/sources/n0007/a b+ü?.txt"}
    assert fetch(tmp_path, {"object": one}, **keys)[0] == 0
    assert (tmp_path / "x").read_bytes() == b"7"
    code, said = fetch(tmp_path, {"object": one}, **(keys | {"TORPOR_FILE_SECRET_1": "wrong"}))
    assert (code, "SignatureDoesNotMatch" in said, "wrong" in said) == (65, True, False)
    code, said = fetch(tmp_path, {"object": {"url": one["url"], "endpoint": bucket.endpoint}})
    assert (code, "responded with 403" in said) == (65, True)

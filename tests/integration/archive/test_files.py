"""Files of tasks in the archive: stored by the pod of their task, and read by pods of the same Workflow."""

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from torpor_archive.storage import file_objects
from torpor_wire import constants

from tests.integration.archive.conftest import OCTETS, ArchiveTask, MakeArchive, MakeDatabase, account
from tests.integration.archive.databases import UNFINISHED
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.conftest import Server
from tests.integration.policies.transitions.conftest import create_pod, set_fields
from tests.support.manifests import manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """A task that stores the file `table`, and the token of its pod."""

    task: ArchiveTask

    def put(self, archive: ArchiveProcess, body: bytes, file: str = "table", kind: str = "file") -> ReplicaResponse:
        path = f"/v1/namespaces/{self.task.namespace}/taskruns/{self.task.name}/files/{file}"
        return archive.request("PUT", path, self.task.token, body, Content_Type=OCTETS, Torpor_Type=kind)

    def post(self, archive: ArchiveProcess, verb: str, **headers: str) -> ReplicaResponse:
        path = f"/v1/namespaces/{self.task.namespace}/taskruns/{self.task.name}/files/table/{verb}"
        return archive.request("POST", path, self.task.token, None, **headers)

    def address(self, digest: str, file: str = "table") -> str:
        return f"/v1/namespaces/{self.task.namespace}/files/{self.task.uid}/{file}/{digest}"


def file_task(server: Server, namespace: str, workflow: str, *, claimed: bool = True) -> FileTask:
    name = f"t-{uuid.uuid4().hex[:8]}"
    spec = {
        "workflow": {"name": "run", "uid": workflow},
        "task": "task",
        "image": "x",
        "python": "m:f",
        "files": {"out": [{"name": "table", "path": "/tmp/table"}]},
    }
    uid = server.create("taskruns", namespace, manifest("TaskRun", name, spec)).expect(201)["metadata"]["uid"]
    pod = create_pod(server, namespace, f"{name}-a1-s0")
    if claimed:
        mine = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "c"}
        server.patch_status(namespace, name, set_fields(state="Running", pod=mine)).expect(200)
    token = server.token(namespace, "torpor-task", pod=pod, audience=constants.ARCHIVE_AUDIENCE)
    return FileTask(task=ArchiveTask(namespace=namespace, name=name, uid=uid, workflow=workflow, token=token))


@pytest.fixture
def maker(server: Server, home: str) -> FileTask:
    return file_task(server, home, uuid.uuid4().hex)


def get_as(archive: ArchiveProcess, path: str, reader: FileTask) -> ReplicaResponse:
    return archive.request("GET", path, reader.task.token, Torpor_TaskRun=reader.task.name)


@pytest.mark.parametrize("size", [0, 1, 3 * 512 * 1024 + 17])
def test_a_file_is_read_as_it_was_stored_and_from_any_byte(
    archive: ArchiveProcess, server: Server, maker: FileTask, size: int
) -> None:
    body = bytes(number % 251 for number in range(size))
    stored = maker.put(archive, body, kind="file+gzip").expect(201).json
    assert (stored["size"], stored["digest"]) == (size, hashlib.sha256(body).hexdigest())
    reader = file_task(server, maker.task.namespace, maker.task.workflow, claimed=False)
    path = maker.address(stored["digest"])
    answer = get_as(archive, path, reader).expect(200)
    assert (answer.body, answer.headers["Torpor-Type"]) == (body, "file+gzip")
    for offset in (0, 1, size // 2, size, size + 5):
        assert get_as(archive, f"{path}?offset={offset}", reader).expect(200).body == body[offset:]


@pytest.mark.attack
def test_no_other_workflow_and_no_other_namespace_reads_a_file(
    archive: ArchiveProcess, server: Server, maker: FileTask, open_namespace: Any
) -> None:
    path = maker.address(maker.put(archive, b"x").expect(201).json["digest"])
    other = file_task(server, maker.task.namespace, uuid.uuid4().hex)
    assert get_as(archive, path, other).expect(403).reason == "Forbidden"
    away = file_task(server, open_namespace(), maker.task.workflow)
    assert get_as(archive, path, away).expect(403).reason == "Forbidden"
    foreign = path.replace(maker.task.namespace, away.task.namespace, 1)
    assert get_as(archive, foreign, away).expect(404).reason == "NotFound"
    assert archive.request("GET", path, maker.task.token).expect(403).reason == "Forbidden"


@pytest.mark.attack
def test_a_pod_stores_no_file_after_its_end_and_none_that_is_not_declared(
    archive: ArchiveProcess, server: Server, maker: FileTask
) -> None:
    assert "does not store a file x" in maker.put(archive, b"x", "x").expect(403).json["message"]
    assert maker.put(archive, b"x", "..%2Ftable").status in {400, 404}
    assert maker.put(archive, b"x", kind="list").expect(400).reason == "Invalid"
    task = maker.task
    server.patch_status(task.namespace, task.name, set_fields(state="Failed")).expect(200)
    assert "requires Running" in maker.put(archive, b"x").expect(403).json["message"]


def test_a_later_upload_replaces_a_file_and_leaves_nothing(archive: ArchiveProcess, maker: FileTask) -> None:
    first = maker.put(archive, b"first").expect(201).json["digest"]
    second = maker.put(archive, b"second").expect(201).json["digest"]
    task = maker.task
    assert task.get(archive, maker.address(second)).expect(200).body == b"second"
    assert task.get(archive, maker.address(first)).expect(404).reason == "NotFound"
    assert archive.database.value(UNFINISHED) == 0


def test_a_reader_of_the_namespace_gets_a_file(archive: ArchiveProcess, server: Server, maker: FileTask) -> None:
    digest = maker.put(archive, b"x").expect(201).json["digest"]
    reader = account(server, maker.task.namespace, "files-reader", "view")
    assert archive.request("GET", maker.address(digest), reader).expect(200).body == b"x"


PART = file_objects.PART
LIMIT = 3 * PART


@dataclass(frozen=True, slots=True, kw_only=True)
class PartUpload:
    """An upload of the file `table` in parts to the database."""

    archive: ArchiveProcess
    maker: FileTask
    id: str

    @classmethod
    def begin(cls, archive: ArchiveProcess, maker: FileTask) -> "PartUpload":
        body = maker.post(archive, "parts?first=0", Torpor_Type="file", Torpor_Direct="parts").expect(200).json
        assert (body["urls"], body["part"]) == ([], PART)
        return cls(archive=archive, maker=maker, id=body["upload"])

    def put(self, number: int, body: bytes) -> ReplicaResponse:
        return self.maker.put(self.archive, body, f"table/parts/{number}?upload={self.id}")

    def finish(self, content: bytes) -> ReplicaResponse:
        digest = hashlib.sha256(content).hexdigest()
        return self.maker.post(self.archive, f"finish?upload={self.id}&size={len(content)}&digest={digest}")


@pytest.fixture
def limited(make_database: MakeDatabase, make_archive: MakeArchive) -> Iterator[ArchiveProcess]:
    """An archive with a quota of a few parts."""
    archive = make_archive(make_database(), "--namespace-quota", str(LIMIT)).ready()
    yield archive
    archive.stop()


def test_a_file_is_stored_in_parts_of_which_each_can_be_repeated(limited: ArchiveProcess, maker: FileTask) -> None:
    content = bytes(number % 251 for number in range(2 * PART + 17))
    pieces = [content[at : at + PART] for at in range(0, len(content), PART)]
    upload = PartUpload.begin(limited, maker)
    upload.put(1, b"broken").expect(201)
    for number in (2, 0, 1, 0):
        upload.put(number, pieces[number]).expect(201)
    for _ in range(2):  # the response to the first request may be lost
        upload.finish(content).expect(201)
    address = maker.address(hashlib.sha256(content).hexdigest())
    assert maker.task.get(limited, address).expect(200).body == content
    assert maker.task.get(limited, f"{address}?offset={PART + 5}").expect(200).body == content[PART + 5 :]
    assert limited.database.value(UNFINISHED) == 0


@pytest.mark.attack
def test_parts_are_bounded_and_belong_to_their_task(limited: ArchiveProcess, server: Server, maker: FileTask) -> None:
    upload = PartUpload.begin(limited, maker)
    assert upload.put(0, bytes(PART + 1)).expect(413).reason == "TooLarge"
    assert upload.put(10**6, b"x").expect(413).reason == "TooLarge"
    upload.put(0, bytes(PART)).expect(201)
    assert "upload the missing parts" in upload.finish(bytes(PART + 5)).expect(400).json["message"]
    other = file_task(server, maker.task.namespace, maker.task.workflow)
    stolen = PartUpload(archive=limited, maker=other, id=upload.id)
    assert stolen.put(1, b"x").expect(404).reason == "NotFound"
    assert stolen.finish(bytes(PART)).expect(404).reason == "NotFound"
    second = PartUpload.begin(limited, other)  # what is unfinished counts for the quota
    assert second.put(2, b"x").expect(507).reason == "QuotaExceeded"
    second.put(1, bytes(PART)).expect(201)
    assert upload.put(1, b"x").expect(507).reason == "QuotaExceeded"
    again = PartUpload.begin(limited, maker)  # it replaces the first
    assert limited.database.value(UNFINISHED) == 2
    assert upload.put(0, b"x").expect(404).reason == "NotFound"
    again.put(0, b"x").expect(201)

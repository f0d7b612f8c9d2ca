"""Long logs in an object store: whole, and deleted with their run."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from torpor_wire import constants

from tests.integration.archive.conftest import MakeArchive, MakeDatabase
from tests.integration.archive.log_node import LINE, LogNode, kubelet, node, node_name, viewer
from tests.integration.archive.process import ArchiveProcess
from tests.integration.conftest import collection, eventually
from tests.integration.triggers.servers import s3
from tests.integration.triggers.servers.s3 import S3

__all__ = ["kubelet", "node", "node_name", "viewer"]


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3]:
    with s3.started() as made:
        yield made


@pytest.fixture
def flags(bucket: S3, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """What makes an archive use the bucket."""
    environment = {
        "AWS_ENDPOINT": bucket.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": s3.REGION,
        "AWS_ACCESS_KEY_ID": s3.ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": s3.SECRET_KEY,
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return "--objects", f"s3://{s3.BUCKET}/logs", "--sweep-interval", "10"


@pytest.fixture
def storing(make_database: MakeDatabase, make_archive: MakeArchive, flags: tuple[str, ...]) -> ArchiveProcess:
    """An archive with the bucket."""
    return make_archive(make_database(), *flags).ready()


def test_a_long_log_is_whole_and_goes_with_its_run(
    storing: ArchiveProcess, node: LogNode, viewer: str, bucket: S3
) -> None:
    archive, runs = storing, collection("workflows", node.namespace)
    tasks = [{"name": "wait", "trigger": {"class": "time"}}]
    body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": {"generateName": "logs-"}}
    run = node.server.create("workflows", node.namespace, body | {"spec": {"tasks": tasks}}).expect(201)["metadata"]
    node = replace(node, workflow=run["uid"])
    log = b"".join(b"2026-01-01T00:00:02Z line %07d\n" % number for number in range(300_000))
    node.end(node.pod(log))
    node.end(node.pod(LINE))
    path = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs"
    sizes: dict[str, int] = {}

    def are_kept() -> bool:
        items = archive.request("GET", path, viewer).expect(200).json["items"]
        sizes.update({each["id"]: each["size"] for each in items if each["state"] == "Kept"})
        return len(sizes) == 2

    eventually(are_kept, "both logs are kept")
    (long,) = [each for each, size in sizes.items() if size == len(log)]
    answer = archive.request("GET", f"/v1/namespaces/{node.namespace}/logs/{long}", viewer).expect(200)
    assert answer.body == log
    # The sweep deletes the logs once there is no Workflow with this uid.
    node.server.request("DELETE", f"{runs}/{run['name']}").expect(200)
    store = bucket.store()

    def is_empty() -> bool:
        return not [each for page in store.list("logs/") for each in page]

    eventually(lambda: not archive.request("GET", path, viewer).expect(200).json["items"], "the entries are gone")
    eventually(is_empty, "the object is gone")
    archive.stop()

"""A run is archived when it ends, again after a clear, and before its TTL deletes it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.archive.conftest import _write_kubeconfig, account
from tests.integration.archive.databases import Sqlite
from tests.integration.archive.process import ArchiveProcess
from tests.integration.conftest import collection
from tests.integration.controller.stage import ControllerFixture, python, shell

_CONFIG = f"{collection('configmaps', 'torpor-system')}/torpor-archive"


@pytest.fixture(scope="module")
def archive(stage: ControllerFixture, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveProcess]:
    """The archive beside the two controllers, once they know of it; at the end there is none, as before."""
    folder = tmp_path_factory.mktemp("archived")
    archive = ArchiveProcess(
        folder=folder,
        kubeconfig=_write_kubeconfig(stage.server, stage.plane.kubeconfig, folder),
        namespace="torpor-system",
        database=Sqlite(path=folder / "archive.db"),
        authority=lambda: str(stage.server.request("GET", _CONFIG).expect(200).get("data", {}).get("ca.crt", "")),
    )
    archive.start()
    try:
        archive.ready()
        stage.until(lambda: _knows_archive(stage), "a new pod knows the archive")
        yield archive
    finally:
        archive.kill()
        stage.server.request("DELETE", _CONFIG).expect(200)
        stage.until(lambda: not _knows_archive(stage), "no new pod knows an archive")


@pytest.fixture(scope="module")
def reader(stage: ControllerFixture) -> str:
    """The token of somebody who may view what is in the namespace."""
    return account(stage.server, stage.namespace, "reader", "view")


def _knows_archive(stage: ControllerFixture) -> bool:
    run = stage.taskrun(name := stage.submit([python("only", "echo")]), "only")
    stage.ends(name)
    return any("archive_url" in json.dumps(pod) for pod in stage.pods_of(run))


def _is_gone(stage: ControllerFixture, name: str) -> bool:
    return stage.server.request("GET", f"{collection('workflows', stage.namespace)}/{name}").status == 404


def _read(archive: ArchiveProcess, stage: ControllerFixture, reader: str, name: str) -> list[dict[str, Any]]:
    """The run as the history has it: its Workflow and its TaskRuns."""
    runs = f"/v1/namespaces/{stage.namespace}/runs"
    (item,) = [item for item in archive.request("GET", runs, reader).expect(200).json["items"] if item["name"] == name]
    assert item["state"] == "Succeeded"
    return _lines(archive.request("GET", f"{runs}/{item['uid']}", reader).expect(200).body)


def _lines(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in body.splitlines()]


def _of_kind(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == kind]


def _is_archived(stage: ControllerFixture, name: str) -> bool:
    return _condition(stage, name).get("status") == "True"


def test_a_run_is_archived_before_it_is_deleted(stage: ControllerFixture, archive: ArchiveProcess, reader: str) -> None:
    name = stage.submit([python("first", "echo"), python("last", "echo", after=["first"])], ttlAfterFinished="1s")
    stage.until(lambda: _is_gone(stage, name), "it is gone")
    workflow, *others = _read(archive, stage, reader, name)
    taskruns = _of_kind(others, "TaskRun")
    assert workflow["metadata"]["name"] == name
    assert workflow["status"]["completionTime"]
    assert sorted(run["spec"]["task"] for run in taskruns) == ["first", "last"]
    assert {run["status"]["state"] for run in taskruns} == {"Succeeded"}


def test_a_run_stays_and_shows_the_cause_while_the_archive_has_no_database(
    stage: ControllerFixture, archive: ArchiveProcess, reader: str
) -> None:
    archive.database.stop()
    try:
        name = stage.submit([python("only", "echo")], ttlAfterFinished="1s")
        stage.until(lambda: "DatabaseUnavailable" in _condition(stage, name).get("message", ""), "it says why")
        condition = _condition(stage, name)
        assert (condition["status"], condition["reason"]) == ("False", "ArchiveUnavailable")
        assert not _is_gone(stage, name)
    finally:
        archive.database.start()
    stage.until(lambda: _is_gone(stage, name), "it is gone")
    assert len(_of_kind(_read(archive, stage, reader, name), "TaskRun")) == 1


def test_a_run_without_a_ttl_is_archived_at_its_end_and_after_a_clear(
    stage: ControllerFixture, archive: ArchiveProcess, reader: str
) -> None:
    name = stage.submit([python("only", "echo"), shell("odd", "exit 3", mayFail=True)])
    stage.until(lambda: _is_archived(stage, name), "it is archived")
    uid = stage.get("workflows", name)["metadata"]["uid"]
    path = f"/v1/namespaces/{stage.namespace}/runs/{uid}"
    workflow, *others = _lines(archive.request("GET", path, reader).expect(200).body)
    assert workflow["status"]["state"] == "Succeeded"
    first = _run_of(others, "only")
    events = _of_kind(others, "Event")
    assert "Succeeded" in [event["reason"] for event in events if event["regarding"]["uid"] == uid]

    annotations = [{"op": "add", "path": "/metadata/annotations", "value": {"torpor.dev/clear": "only"}}]
    stage.change("workflows", name, annotations)
    stage.until(lambda: stage.status(name).get("clears") == 1, "it is cleared")
    stage.until(lambda: _is_archived(stage, name), "it is archived again")
    workflow, *others = _lines(archive.request("GET", path, reader).expect(200).body)
    assert workflow["status"]["clears"] == 1
    second = _run_of(others, "only")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]

    stored = _stored_at(archive, uid)
    note = [{"op": "add", "path": "/metadata/annotations", "value": {"team.example/note": "seen"}}]
    stage.change("workflows", name, note)
    stage.leader().end()
    stage.start_controller()
    later = stage.submit([python("only", "echo")])
    stage.until(lambda: _is_archived(stage, later), "a later run is archived")
    assert _stored_at(archive, uid) == stored


def _run_of(lines: list[dict[str, Any]], task: str) -> dict[str, Any]:
    """The TaskRun of a task in an archived run."""
    return next(run for run in _of_kind(lines, "TaskRun") if run["spec"]["task"] == task)


def _stored_at(archive: ArchiveProcess, uid: str) -> object:
    """When the archive stored this version of a run."""
    return archive.database.value(f"SELECT archived FROM runs WHERE uid = '{uid}'")


def _condition(stage: ControllerFixture, name: str) -> dict[str, Any]:
    conditions = stage.status(name).get("conditions", [])
    return next((item for item in conditions if item["type"] == "Archived"), {})

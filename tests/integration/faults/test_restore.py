"""What a restore brings back and what it repeats, as docs/operations/backup.md says."""

import uuid
from pathlib import Path

import pytest

from tests.integration.controller.stage import python
from tests.integration.faults import etcd
from tests.integration.faults.environment import open_namespace
from tests.integration.faults.installation import Installation, has_ended
from tests.integration.faults.restore import export, import_object, restore_etcd

pytestmark = pytest.mark.long

_RETRY = {"retries": {"limit": 1, "delay": "0s"}}
TASKS = (
    python("first", "echo"),
    python("slow", "loaded", after=["first"], args={"item": 1, "seconds": 8}, **_RETRY),
    python("pause", "waited", after=["first"], args={"length": "6s"}),
    python("last", "echo", after=["slow", "pause"]),
)


@pytest.fixture
def namespace(installation: Installation) -> str:
    """A namespace of the test."""
    return open_namespace(installation, f"restore-{uuid.uuid4().hex[:8]}")


def _state(installation: Installation, namespace: str, run: str, task: str) -> str:
    runs = installation.taskruns(namespace, run)
    return next((str(each["status"]["state"]) for each in runs if each["spec"]["task"] == task), "")


def _await_end(installation: Installation, namespace: str, run: str) -> str:
    installation.until(lambda: has_ended(installation.workflow(namespace, run)), f"{run} ends")
    return str(installation.workflow(namespace, run)["status"]["state"])


def test_a_restore_of_etcd_repeats_what_came_after_the_copy(
    installation: Installation, namespace: str, tmp_path: Path
) -> None:
    run = installation.submit(namespace, TASKS)
    wanted = {"first": "Succeeded", "slow": "Running", "pause": "Deferred"}
    installation.until(
        lambda: {task: _state(installation, namespace, run, task) for task in wanted} == wanted, "the moment to copy"
    )
    etcd.copy(installation.plane, tmp_path / "copy")
    assert _await_end(installation, namespace, run) == "Succeeded"
    before = {each["spec"]["task"]: each for each in installation.taskruns(namespace, run)}

    restore_etcd(installation, tmp_path / "copy", namespace)
    assert _await_end(installation, namespace, run) == "Succeeded"
    after = {each["spec"]["task"]: each for each in installation.taskruns(namespace, run)}
    counted = {task: len(installation.notes([taskrun])) for task, taskrun in after.items()}

    # It had ended: it does not run again.
    assert counted["first"] == 1
    # It ran: its report is lost, so its attempt is lost, and the next one runs.
    assert (counted["slow"], after["slow"]["status"]["attempt"]) == (2, 2)
    # It waited: the wait fires again, and the segment after it runs again under the same idempotency key.
    assert (counted["pause"], after["pause"]["status"]["attempt"]) == (3, 1)
    # It did not exist: it is created anew, with another uid.
    assert counted["last"] == 1
    assert before["last"]["metadata"]["uid"] != after["last"]["metadata"]["uid"]


def test_exported_runs_that_ended_stay_ended_and_others_begin_anew(installation: Installation, namespace: str) -> None:
    ended = installation.submit(namespace, [python("only", "echo")])
    assert _await_end(installation, namespace, ended) == "Succeeded"
    waiting = installation.submit(namespace, [python("pause", "waited", args={"length": "20s"})])
    installation.until(lambda: _state(installation, namespace, waiting, "pause") == "Deferred", "it waits")
    exported = export(installation, namespace, ["workflows"])

    other = open_namespace(installation, f"restored-{uuid.uuid4().hex[:8]}")
    for plural, body in exported:
        import_object(installation, other, plural, body, with_status=body["metadata"]["name"] == ended)

    assert _await_end(installation, other, waiting) == "Succeeded"
    assert len(installation.taskruns(other, waiting)) == 1
    restored = installation.workflow(other, ended)
    assert restored["status"]["state"] == "Succeeded"
    assert installation.taskruns(other, ended) == []

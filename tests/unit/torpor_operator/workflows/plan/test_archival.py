"""A run is uploaded to the archive once after each end, and its condition `Archived` has the outcome."""

from typing import Any

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_crds.models.base import Condition
from torpor_operator.model.actions import ArchiveRun, ConfirmArchived, DeleteWorkflow
from torpor_wire import constants

from tests.support.builders import python
from tests.support.plan_fixture import PlanFixture

ENDPOINT = ArchiveEndpoint(url="https://archive:8443", certificate="PEM")
FAILURE = "the archive responded 503: DatabaseUnavailable"


def ended(*, failure: str = "", **spec: Any) -> PlanFixture:
    """A run that has ended, in an installation with an archive."""
    world = PlanFixture(python("a"), **spec)
    world.api.archive = ENDPOINT
    world.api.archive_error = failure
    return world.settle().succeed("a")


def archived(world: PlanFixture) -> Condition | None:
    return next((condition for condition in world.status.conditions if condition.type == "Archived"), None)


def uploads(world: PlanFixture) -> int:
    return sum(isinstance(action, ArchiveRun) for action in world.plan().actions)


def test_a_run_without_a_ttl_is_archived_once_when_it_ends() -> None:
    world = ended()
    assert world.api.archived == [world.status.completion_time]
    condition = archived(world)
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", "Archived")
    assert world.status.state == "Succeeded"
    assert world.plan().actions == ()


def test_a_change_of_an_annotation_or_a_restart_does_not_archive_again() -> None:
    world = ended()
    world.workflow["metadata"]["annotations"] = {"team.example/note": "seen"}
    world.workflow["metadata"]["resourceVersion"] = "999"
    world.api.uploads.clear()
    assert uploads(world) == 0
    world.settle()
    assert len(world.api.archived) == 1


def test_a_run_that_ends_again_after_a_clear_is_archived_again() -> None:
    world = ended()
    world.now += 60
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = "a"
    world.settle()
    assert archived(world) is None
    assert uploads(world) == 0
    world.now += 60
    world.succeed("a")
    first, second = world.api.archived
    assert first < second == world.status.completion_time
    assert archived(world) is not None


def test_without_an_archive_there_is_no_upload_and_no_condition() -> None:
    world = PlanFixture(python("a")).settle().succeed("a")
    assert world.api.archived == []
    assert archived(world) is None


def test_nothing_is_uploaded_before_the_last_taskrun_is_finalized() -> None:
    world = ended()
    world.workflow["status"]["conditions"] = []
    (name,) = world.taskruns
    world.taskruns[name]["status"]["state"] = "Running"
    assert uploads(world) == 0
    world.taskruns[name]["status"]["state"] = "Succeeded"
    world.workflow["metadata"]["finalizers"] = [constants.FINALIZER]
    assert uploads(world) == 0
    world.workflow["metadata"]["finalizers"] = []
    assert uploads(world) == 1


def test_a_failed_upload_is_reported_once_and_repeated_after_a_pause() -> None:
    world = ended(failure=FAILURE)
    condition = archived(world)
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == ("False", "ArchiveUnavailable", FAILURE)
    plan = world.plan()
    assert (plan.actions, plan.again_at) == ((), world.now + 30)
    assert plan.status == world.status
    world.now += 30
    assert uploads(world) == 1
    world.api.archive_error = ""
    world.settle()
    condition = archived(world)
    assert condition is not None
    assert condition.status == "True"
    assert len(world.api.archived) == 1


def test_a_run_beyond_its_ttl_stays_until_it_is_archived() -> None:
    world = ended(failure=FAILURE, ttlAfterFinished="1s").advance(3600)
    assert not world.api.deleted
    assert world.api.confirmed == []
    world.api.archive_error = ""
    assert world.advance(30).api.deleted


def test_a_run_that_the_archive_lost_is_archived_again_before_its_deletion() -> None:
    world = ended(ttlAfterFinished="1h")
    world.api.archived.clear()
    world.advance(3600)
    assert world.api.archived == [world.status.completion_time]
    assert world.api.deleted


def test_an_archived_run_stays_beyond_its_ttl_until_the_archive_confirms_it() -> None:
    world = ended(ttlAfterFinished="1h")
    world.api.archive_error = FAILURE
    world.advance(3600)
    assert any(isinstance(need, ConfirmArchived) for need in world.api.confirmed)
    assert not world.api.deleted
    condition = archived(world)
    assert condition is not None
    assert (condition.status, condition.message) == ("False", FAILURE)
    world.api.archive_error = ""
    assert world.advance(30).api.deleted


def test_a_run_that_is_being_deleted_is_not_uploaded() -> None:
    world = ended()
    world.workflow["status"]["conditions"] = []
    world.workflow["metadata"]["finalizers"] = ["foregroundDeletion"]
    world.delete()
    plan = world.plan()
    assert not any(isinstance(action, ArchiveRun | DeleteWorkflow) for action in plan.actions)

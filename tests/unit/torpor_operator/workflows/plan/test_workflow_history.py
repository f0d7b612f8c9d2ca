"""`status.history` of a Workflow: what happened to the run, and who asked for it."""

from typing import Any

from torpor_crds.models.history import WorkflowHistoryEntry
from torpor_operator.state import workflow_history
from torpor_wire import constants, times
from torpor_wire.enums import WorkflowEvent

from tests.support.builders import NOW, python, wait
from tests.support.plan_fixture import PlanFixture


def events(world: PlanFixture) -> list[str]:
    return [entry.type.value for entry in world.status.history]


def signed(world: PlanFixture, by: str, **spec: Any) -> PlanFixture:
    """Change the spec as `torpor suspend` does: with the user and the new generation."""
    metadata = world.workflow["metadata"]
    metadata.setdefault("annotations", {})[constants.CHANGED_BY] = f"{metadata['generation'] + 1} {by}"
    return world.change(**spec)


def test_a_run_that_succeeds_starts_and_ends() -> None:
    world = PlanFixture(python("a")).settle().succeed("a")
    assert [(entry.type, entry.state) for entry in world.status.history] == [("Started", None), ("Ended", "Succeeded")]
    assert world.status.history[0].at == times.rfc3339(NOW)


def test_a_suspension_has_its_user_and_its_end() -> None:
    world = signed(PlanFixture(python("a"), python("b", after=["a"])).settle(), "ann", suspend=True)
    assert [(entry.type, entry.by) for entry in world.status.history[1:]] == [("Suspended", "ann")]
    world.change(suspend=False)
    signed(world, "bob", suspend=True)
    assert [(entry.type, entry.by) for entry in world.status.history[2:]][-1] == ("Suspended", "bob")


def test_an_unsigned_change_has_no_author() -> None:
    world = signed(PlanFixture(python("a")).settle(), "ann", suspend=True)
    world.change(suspend=False)
    assert [(entry.type, entry.by) for entry in world.status.history[1:]] == [("Suspended", "ann"), ("Resumed", None)]


def test_a_cancelled_run_differs_from_a_failed_one() -> None:
    cancelled = signed(PlanFixture(python("a")).settle(), "ann", cancel=True)
    assert [(entry.type, entry.by, entry.state) for entry in cancelled.status.history[1:]] == [
        ("Cancelled", "ann", None),
        ("Ended", None, "Cancelled"),
    ]
    failed = PlanFixture(python("a")).settle().fail("a")
    assert failed.status.history[-1].state == "Failed"


def test_a_stopped_run_runs_its_hooks() -> None:
    world = PlanFixture(python("a"), python("clean", hook="end")).settle().change(stop=True)
    assert events(world) == ["Started", "Stopped", "Finishing"]
    assert events(world.succeed("clean")) == ["Started", "Stopped", "Finishing", "Ended"]


def test_a_clear_names_its_tasks_and_its_user_and_the_run_ends_again() -> None:
    world = PlanFixture(python("a")).settle().fail("a")
    world.workflow["metadata"]["annotations"] = {
        constants.CLEAR: "failed",
        constants.CHANGED_BY: "clear ann",
    }
    world.settle()
    cleared = world.status.history[-1]
    assert (cleared.type, cleared.by, cleared.message) == ("Cleared", "ann", "running again: a")
    assert world.workflow["metadata"]["annotations"] == {}
    assert events(world.succeed("a")) == ["Started", "Ended", "Cleared", "Ended"]


def test_a_wait_changes_nothing() -> None:
    world = PlanFixture(wait("drop")).settle().advance(1000)
    assert events(world) == ["Started"]


def test_a_long_history_is_bounded_and_counted() -> None:
    history: workflow_history.History = ()
    for number in range(100):
        entry = WorkflowHistoryEntry(type=WorkflowEvent.SUSPENDED, at=times.rfc3339(NOW + number))
        history = workflow_history.bounded((*history, entry))
    assert len(history) == constants.HISTORY_MAX
    assert history[0].at == times.rfc3339(NOW)
    assert (history[0].count or 1) + len(history) - 1 == 100
    assert history[-1].at == times.rfc3339(NOW + 99)

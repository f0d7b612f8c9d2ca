"""Counts of instances, from the status of the Workflow or from its TaskRuns."""

import pytest
from torpor_views import counts
from torpor_views.counts import InstanceCounts
from torpor_wire.state import State

from tests.unit.views.objects import Object, python, run, taskrun, workflow


def of_load(task: Object, *taskruns: Object, **fields: object) -> InstanceCounts:
    parsed = run(workflow(task, **fields), *taskruns)  # type: ignore[arg-type]
    return counts.of_task(parsed, parsed.tasks[0])


def test_the_status_alone_gives_the_summary_of_a_mapped_task() -> None:
    known = {"total": 1000, "created": 900, "active": 38, "deferred": 40, "succeeded": 809, "failed": 3}
    counted = of_load(python("load", "Running", counts=known))
    assert counts.summary(counted) == "812/1000, 38 active, 40 waiting, 3 failed"
    assert counted.pending == 110


def test_the_taskruns_tell_the_active_ones_apart() -> None:
    known = {"total": 4, "created": 3, "active": 3}
    some = (taskrun("load", "Running", 0), taskrun("load", "UpForRetry", 1), taskrun("load", "Scheduled", 2))
    counted = of_load(python("load", "Running", counts=known), *some)
    assert counts.summary(counted) == "0/4, 1 running, 1 queued, 1 retrying"


@pytest.mark.parametrize("state", State)
def test_each_state_is_counted_once(state: State) -> None:
    assert of_load(python("load", "Running", counts={"total": 1, "created": 1}), taskrun("load", state, 0)).total == 1


def test_an_unknown_state_is_counted() -> None:
    assert of_load(python("load", "Running", counts={"total": 1}), taskrun("load", "Nova", 0)).unknown == 1


def test_a_created_instance_without_taskrun_was_deleted() -> None:
    known = {"total": 3, "created": 3}
    assert of_load(python("load", "Running", counts=known), taskrun("load", "Running", 0)).deleted == 2


def test_an_instance_that_is_being_cleared_was_not_deleted() -> None:
    clearing = {"clearing": {"asked": "load", "tasks": [{"name": "load"}]}}
    known = {"total": 3, "created": 3}
    counts = of_load(python("load", "Running", counts=known), taskrun("load", "Running", 0), status=clearing)
    assert counts.deleted == 0


def test_instances_that_when_skipped_count_beside_those_that_ended_skipped() -> None:
    known = {"total": 3, "created": 1, "skipped": 3}
    counts = of_load(python("load", "Skipped", counts=known), taskrun("load", "Skipped", 0))
    assert (counts.skipped, counts.done, counts.total) == (3, 3, 3)


def test_a_status_older_than_the_taskruns_does_not_make_the_total_smaller() -> None:
    some = (taskrun("load", "Running", 0), taskrun("load", "Running", 1))
    assert of_load(python("load", "Running", counts={"total": 1, "created": 1}), *some).total == 2


def test_an_unknown_number_of_instances_is_a_question_mark() -> None:
    assert counts.summary(of_load(python("load", "Pending"))) == "0/?"


def test_the_counts_of_a_run_count_a_task_of_unknown_size_once() -> None:
    parsed = run(workflow(python("a", "Succeeded", counts={"total": 1, "created": 1, "succeeded": 1}), python("b")))
    assert counts.of_run(parsed) == InstanceCounts(succeeded=1, pending=1)

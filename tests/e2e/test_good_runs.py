"""What a run does when its tasks do what they should, beside forty others of which half are broken."""

import json

import pytest
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client.errors import NotFound
from torpor_wire import times
from torpor_wire.state import State, TaskState

from tests.e2e.support import site
from tests.e2e.support.concurrent_runs import GOOD, trigger
from tests.e2e.support.stage import TIMEOUT, ClusterFixture, condition


def states(workflow: Workflow) -> dict[str, TaskState]:
    return {task.name: task.state for task in workflow.status.tasks}


@pytest.mark.parametrize("name", [name for name in GOOD if name != "passing"])
async def test_a_good_run_succeeds_beside_broken_ones(busy_stage: ClusterFixture, name: str) -> None:
    workflow = await busy_stage.ended(name)
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    assert condition(workflow) == ("True", "Succeeded")
    assert condition(workflow, "Reconciling")[0] == condition(workflow, "Stalled")[0] == "False"


async def test_a_result_reaches_the_next_task_unchanged(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("good")
    first, second = await busy_stage.taskruns("good")
    assert first.status.result == second.status.result
    assert json.loads(second.status.result or "") == [1, 2.0, None, {"b": 1, "a": "ü"}]


async def test_a_resumed_pod_gets_method_state_and_event(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("resumed")
    (run,) = await busy_stage.taskruns("resumed")
    result = json.loads(run.status.result or "")
    assert run.status.next is not None
    assert run.status.next.method == "e2e_tasks:tell"
    assert result["kept"] == {"b": [1.0, None], "a": "ü"}
    assert json.dumps(result["event"]) == json.dumps(json.loads(run.status.event or ""))
    assert (result["attempt"], result["segment"]) == (1, 1)
    assert result["before"] == f"{run.metadata.name}-a1-s0"
    assert result["here"] == f"{run.metadata.name}-a1-s1"


async def test_a_containers_last_words_are_its_result(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("contained")
    it, reader = await busy_stage.taskruns("contained")
    assert json.loads(it.status.result or "") == {"day": "friday"}
    assert reader.status.result == '"friday"'


async def test_a_container_stores_a_large_result_which_a_function_reads(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("uploaded")
    it, reader, small = await busy_stage.taskruns("uploaded")
    assert it.status.stored is not None
    assert (it.status.stored.type, it.status.stored.length, it.status.result) == ("list", 40001, None)
    assert reader.status.result == "20000.0"
    assert (small.status.result, small.status.stored) == ("[1,2]", None)


async def test_a_trigger_class_of_a_user_fires_in_its_pool(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("own-trigger")
    (run,) = await busy_stage.taskruns("own-trigger")
    assert json.loads(run.status.result or "") == {"said": "moin"}


async def test_a_wait_for_a_kubernetes_object_ends_when_its_condition_holds(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("kubernetes-trigger")
    (run,) = await busy_stage.taskruns("kubernetes-trigger")
    good = await busy_stage.workflow("good")
    assert json.loads(run.status.result or "")["uid"] == good.metadata.uid
    assert times.epoch(run.status.completion_time or "") >= times.epoch(good.status.completion_time or "") - 1


async def test_a_wait_for_an_http_response_ends_when_it_comes(stage: ClusterFixture) -> None:
    address = await site.started(stage, "")
    await stage.start("w", trigger("http", url=f"http://{address}:8000/", status="200-299"))
    workflow = await stage.ended("w")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    (run,) = await stage.taskruns("w")
    assert json.loads(run.status.result or "")["status"] == 200


async def test_an_operator_class_defers_twice_from_anywhere_below_execute(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("twice")
    (run,) = await busy_stage.taskruns("twice")
    assert json.loads(run.status.result or "") == [0, 1, 2]
    assert (run.status.attempt, run.status.segment) == (1, 2)


async def test_a_failed_attempt_is_tried_again_after_a_growing_delay(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("flaky")
    (run,) = await busy_stage.taskruns("flaky")
    assert (run.status.state, run.status.attempt, run.status.result) == (State.SUCCEEDED, 3, "3")
    took = times.epoch(run.status.completion_time or "") - times.epoch(run.metadata.creation_timestamp)
    assert took >= 2 + 4
    assert await busy_stage.event(run.metadata.uid, "Error")


async def test_no_more_pods_than_parallelism_run_at_once(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("narrow")
    runs = await busy_stage.taskruns("narrow")
    assert len(runs) == 6
    spans = [(times.epoch(run.status.started_at or ""), times.epoch(run.status.completion_time or "")) for run in runs]
    assert max(sum(start <= moment < end for start, end in spans) for moment, _ in spans) <= 2
    second = sorted(times.epoch(run.metadata.creation_timestamp) for run in runs)[1]
    assert second < min(end for _, end in spans), "two begin at once"


async def test_what_is_not_wanted_is_skipped_and_a_clean_up_runs_all_the_same(busy_stage: ClusterFixture) -> None:
    workflow = await busy_stage.ended("branches")
    assert states(workflow) == {
        "root": TaskState.SUCCEEDED,
        "unwanted": TaskState.SKIPPED,
        "after_unwanted": TaskState.SKIPPED,
        "empty": TaskState.SKIPPED,
        "clean_up": TaskState.SUCCEEDED,
    }
    assert {run.spec.task for run in await busy_stage.taskruns("branches")} == {"root", "clean_up"}


async def test_a_finished_run_goes_when_its_time_to_live_is_over(busy_stage: ClusterFixture) -> None:
    async def gone() -> bool | None:
        try:
            await busy_stage.workflow("passing")
        except NotFound:
            return True
        return None

    assert await busy_stage.until(gone, TIMEOUT, "the finished Workflow to go")
    assert await busy_stage.until(lambda: _none(busy_stage), TIMEOUT, "its TaskRuns to go")


async def _none(stage: ClusterFixture) -> bool | None:
    return True if not await stage.taskruns("passing") else None

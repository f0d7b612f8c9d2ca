"""What a run does beside its tasks: the number of processes, mapping, cancellation, missing tools."""

import asyncio
from pathlib import Path
from typing import Any

from torpor_local import engine
from torpor_local.engine import Engine

from tests.unit.local.local_runs import Changes, options, play, workflow

LONG = {"name": "slow", "python": "local_tasks:sleep", "args": {"seconds": 50}}


class Watching(Changes):
    """Records how many TaskRuns were Running at once, and calls `on_running` for the first."""

    def __init__(self) -> None:
        super().__init__()
        self.running: dict[str, str] = {}
        self.most = 0
        self.started = asyncio.Event()

    def changed(self, kind: str, body: Any) -> None:
        super().changed(kind, body)
        if kind == "TaskRun":
            self.running[body["metadata"]["name"]] = body["status"]["state"]
            self.most = max(self.most, list(self.running.values()).count("Running"))
            if self.most:
                self.started.set()


async def test_mapped_instances_run_and_their_results_are_in_order(tmp_path: Path) -> None:
    outcome = await play(
        tmp_path,
        {"name": "each", "python": "local_tasks:add", "args": {"a": 10}, "expand": [{"name": "b", "over": [3, 1, 2]}]},
        {"name": "total", "python": "local_tasks:add", "args": {"a": "${tasks.each.results[0]}"}},
    )
    assert outcome.results == {"each": [13, 11, 12], "total": 13}


async def test_no_more_processes_run_than_jobs(tmp_path: Path) -> None:
    seen = Watching()
    task = {"name": "each", "python": "local_tasks:sleep", "expand": [{"name": "seconds", "over": [0.1] * 4}]}
    outcome = await play(tmp_path, task, seen=seen, jobs=1)
    assert (outcome.state, seen.most) == ("Succeeded", 1)


async def test_a_cancelled_run_ends_its_processes(tmp_path: Path) -> None:
    seen = Watching()
    run = Engine([workflow(LONG)], options(tmp_path), seen)
    playing = asyncio.create_task(run.run())
    await seen.started.wait()
    run.cancel()
    outcome = await playing
    assert (outcome.state, outcome.reason) == ("Failed", "Cancelled")
    assert outcome.objects["TaskRun"][0]["status"]["state"] == "Cancelled"


async def test_an_interrupt_cancels_the_run(tmp_path: Path) -> None:
    seen = Watching()
    playing = asyncio.create_task(engine.play([workflow(LONG)], options(tmp_path), seen))
    await seen.started.wait()
    playing.cancel()
    assert (await playing).reason == "Cancelled"


async def test_a_process_that_exits_without_a_report_is_lost(tmp_path: Path) -> None:
    outcome = await play(tmp_path, {"name": "exits", "python": "local_tasks:vanish"})
    status = outcome.objects["TaskRun"][0]["status"]
    assert (status["state"], status["reason"]) == ("Failed", "Lost")


async def test_an_interpreter_that_does_not_exist_fails_the_task(tmp_path: Path) -> None:
    chosen = options(tmp_path)
    missing = type(chosen)(folder=chosen.folder, python="/no/python", working_directory=tmp_path)
    outcome = await engine.play([workflow({"name": "one", "python": "local_tasks:add"})], missing, Changes())
    status = outcome.objects["TaskRun"][0]["status"]
    assert (status["reason"], "/no/python" in status["message"]) == ("LaunchFailed", True)


async def test_a_failure_of_a_task_does_not_end_the_others(tmp_path: Path) -> None:
    outcome = await play(
        tmp_path, {"name": "bad", "python": "local_tasks:fail"}, {"name": "good", "python": "local_tasks:add"}
    )
    assert (outcome.state, outcome.results["good"]) == ("Failed", 0)


async def test_a_hook_runs_after_a_failure(tmp_path: Path) -> None:
    outcome = await play(
        tmp_path,
        {"name": "bad", "python": "local_tasks:fail"},
        {"name": "clean", "python": "local_tasks:add", "hook": "end"},
    )
    assert (outcome.state, outcome.results["clean"]) == ("Failed", 0)


async def test_a_large_result_goes_through_the_archive(tmp_path: Path) -> None:
    outcome = await play(
        tmp_path,
        {"name": "large", "python": "local_tasks:large", "args": {"size": 300}},
        {"name": "all", "python": "local_tasks:length", "args": {"value": "${tasks.large.result}"}},
        {
            "name": "each",
            "python": "local_tasks:length",
            "expand": [{"name": "value", "over": "${tasks.large.result}"}],
            "when": "mapping.index < 2",
        },
    )
    assert outcome.results["all"] == 300
    assert outcome.results["each"] == [100, 100]
    assert outcome.results["large"] == ["x" * 100] * 300


async def test_a_run_that_is_deleted_at_its_end_has_an_outcome(tmp_path: Path) -> None:
    run = workflow({"name": "one", "python": "local_tasks:add"}, ttlAfterFinished="0s")
    assert (await engine.play([run], options(tmp_path), Changes())).state == "Succeeded"


async def test_the_metrics_of_the_author_are_in_the_outcome(tmp_path: Path) -> None:
    metrics = [
        {"name": "sum", "type": "counter", "value": "result", "labels": [{"name": "task", "value": "task.name"}]},
        {"name": "wrong", "type": "gauge", "value": "result.rows"},
    ]
    task = {"name": "each", "python": "local_tasks:add", "args": {"a": 10}, "metrics": metrics}
    outcome = await play(tmp_path, task | {"expand": [{"name": "b", "over": [1, 2]}]})
    sample, problem = outcome.metrics
    assert sample == 'torpor_custom_counter_sum_total{namespace="default",task="each"} 23.0'
    assert problem.startswith("task each: metric wrong: ")

"""Time is skipped to the next moment, and only where nothing but time can change a run."""

from pathlib import Path
from typing import Any

from torpor_local.waits import next_moment
from torpor_wire import times

from tests.unit.local.local_runs import Changes, play

NOW = 1_700_000_000.0


def run(state: str, **status: Any) -> dict[str, Any]:
    return {"status": {"state": state, **status}}


def moment(*taskruns: dict[str, Any], timeout: str | None = None, waits_at: float | None, waits: int) -> float | None:
    workflow = {"spec": {"timeout": timeout}, "status": {"startTime": times.rfc3339(NOW)}}
    return next_moment(taskruns, [workflow], waits_at=waits_at, waits=waits)


def test_time_is_skipped_to_the_first_wait_or_retry() -> None:
    retry = run("UpForRetry", retryAt=times.rfc3339(NOW + 5))
    assert moment(run("Deferred"), waits_at=NOW + 10, waits=1) == NOW + 10
    assert moment(run("Deferred"), retry, waits_at=NOW + 10, waits=1) == NOW + 5
    assert moment(retry, waits_at=None, waits=0) == NOW + 5


def test_time_is_not_skipped_past_the_timeout_of_the_run() -> None:
    assert moment(run("Deferred"), timeout="7s", waits_at=NOW + 10, waits=1) == NOW + 7


def test_time_is_not_skipped_while_a_task_can_run() -> None:
    assert moment(run("Deferred"), run("Running"), waits_at=NOW + 10, waits=1) is None
    assert moment(run("Deferred"), run("Scheduled"), waits_at=NOW + 10, waits=1) is None


def test_time_is_not_skipped_while_a_trigger_asks_a_server() -> None:
    assert moment(run("Deferred"), run("Deferred"), waits_at=None, waits=2) is None


def test_time_is_not_skipped_before_the_triggerer_has_every_wait() -> None:
    assert moment(run("Deferred"), run("Deferred"), waits_at=NOW + 10, waits=1) is None


async def test_a_wait_of_thirty_days_ends_at_once(tmp_path: Path) -> None:
    outcome = await play(
        tmp_path,
        {"name": "month", "trigger": {"class": "duration", "kwargs": {"duration": "30d"}}},
        {
            "name": "more",
            "python": "local_tasks:wait_for",
            "after": ["month"],
            "args": {"duration": "12h"},
        },
        skip_time=True,
    )
    first, last = (times.epoch(outcome.results[name]) for name in ("month", "more"))
    started = times.epoch(outcome.workflow["status"]["startTime"])
    assert outcome.state == "Succeeded"
    assert 30 * 86_400 - 1 <= first - started < 30 * 86_400 + 60
    assert 12 * 3600 - 1 <= last - first < 12 * 3600 + 60


async def test_the_delay_of_a_retry_is_skipped(tmp_path: Path) -> None:
    seen = Changes()
    task = {"name": "flaky", "python": "local_tasks:fail_once", "args": {"marker": str(tmp_path / "marker")}}
    outcome = await play(tmp_path, {**task, "retries": {"limit": 1, "delay": "1h"}}, seen=seen, skip_time=True)
    assert outcome.results["flaky"] == "at last"
    assert "UpForRetry" in seen.states_of("flaky")


async def test_a_wait_ends_at_its_timeout(tmp_path: Path) -> None:
    trigger = {"class": "duration", "kwargs": {"duration": "30d"}, "timeout": "1h"}
    outcome = await play(tmp_path, {"name": "wait", "trigger": trigger}, skip_time=True)
    assert outcome.objects["TaskRun"][0]["status"]["reason"] == "DeferralTimeout"

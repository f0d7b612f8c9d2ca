from typing import Any

from torpor_client.runs.run_list import ListedRun
from torpor_client.schedules import calendar
from torpor_client.schedules.history import PastRun
from torpor_wire import times

NOW = times.epoch("2026-11-22T10:00:00Z")


def past(at: str, state: str = "Succeeded") -> PastRun:
    moment = times.epoch(at)
    run = ListedRun(namespace="data", name="n", uid=at, state=state, created=moment)
    return PastRun(run=run, at=moment, source="night")


def schedule(zone: str = "", **status: Any) -> dict[str, Any]:
    source = {"name": "night", "cron": "0 2 * * *", **({"timezone": zone} if zone else {})}
    return {"metadata": {"name": "n"}, "spec": {"sources": [source]}, "status": status}


def days(built: tuple[calendar.CalendarDay, ...]) -> dict[str, tuple[int, int, int, int]]:
    counted = {day.day: (day.ok, day.failed, day.missed, day.skipped) for day in built}
    return {day: numbers for day, numbers in counted.items() if any(numbers)}


def test_a_day_counts_its_runs_by_outcome() -> None:
    runs = [
        past("2026-11-21T02:00:00Z"),
        past("2026-11-21T03:00:00Z", "Failed"),
        past("2026-11-22T02:00:00Z", "Cancelled"),
        past("2026-11-22T03:00:00Z", "Running"),
        past("2020-01-01T02:00:00Z"),
    ]
    built = calendar.build(schedule(), runs, NOW)
    assert days(built) == {"2026-11-21": (1, 1, 0, 0), "2026-11-22": (0, 1, 0, 0)}
    assert (len(built), built[-1].day, built[-1].running) == (calendar.DAYS, "2026-11-22", 1)


def test_a_day_begins_at_midnight_in_the_zone_of_the_schedule() -> None:
    built = calendar.build(schedule("Asia/Tokyo"), [past("2026-11-20T16:00:00Z")], NOW)
    assert days(built) == {"2026-11-21": (1, 0, 0, 0)}


def test_missed_ticks_and_skipped_events_are_on_the_day_of_the_last() -> None:
    status: dict[str, Any] = {
        "missed": {"count": 3, "last": "2026-11-20T02:00:00Z"},
        "skipped": 2,
        "last": "2026-11-21T02:00:00Z",
        "failedEvents": [{"at": "2026-11-19T02:00:00Z", "reason": "ParamsInvalid"}],
    }
    built = calendar.build(schedule(**status), [], NOW)
    assert days(built) == {"2026-11-19": (0, 1, 0, 0), "2026-11-20": (0, 0, 3, 0), "2026-11-21": (0, 0, 0, 2)}


def test_an_unknown_zone_is_utc() -> None:
    assert days(calendar.build(schedule("Mars/Olympus"), [past("2026-11-21T02:00:00Z")], NOW)) == {
        "2026-11-21": (1, 0, 0, 0)
    }

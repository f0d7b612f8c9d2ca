"""`cron`: its next tick, in any time zone, for every replica and however late."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torpor.triggers import Cron
from torpor_wire import times, trigger
from torpor_wire.cron.ticks import Ticks

from tests.support.fake_api import VirtualClock
from tests.support.fake_services import services
from tests.support.triggerer_fixture import triggerer_fixture

BERLIN = "Europe/Berlin"


def tick(expression: str, after: str, timezone: str = "UTC") -> str:
    waiting = Cron(expression, timezone=timezone, after=after)
    waiting.bind(services())
    payload = str(waiting.payload())
    assert waiting.due() == times.epoch(payload)
    return payload.replace(":00.000Z", "Z")


def armed(expression: str, cursor: str, timezone: str = "UTC", **given: Any) -> Cron:
    waiting = Cron(expression, timezone=timezone, cursor=cursor, **given)
    waiting.bind(services())
    return waiting


@pytest.mark.parametrize(
    ("expression", "after", "due"),
    [
        ("* * * * *", "2026-11-20T08:00:00Z", "2026-11-20T08:01Z"),
        ("* * * * *", "2026-11-20T07:59:59.999Z", "2026-11-20T08:00Z"),
        ("*/15 * * * *", "2026-11-20T08:00:00.001Z", "2026-11-20T08:15Z"),
        ("30 6 * * MON-FRI", "2026-11-20T06:30:00Z", "2026-11-23T06:30Z"),
        ("0 0 29 2 *", "2026-11-20T08:00:00Z", "2028-02-29T00:00Z"),
        ("0 0 L * *", "2026-11-20T08:00:00Z", "2026-11-30T00:00Z"),
        ("0 12 * * sun#1", "2026-11-20T08:00:00+01:00", "2026-12-06T12:00Z"),
        ("*/20 * * * * *", "2026-11-20T08:00:40Z", "2026-11-20T08:01Z"),
        ("0 30 6 * * MON", "2026-11-20T08:00:00Z", "2026-11-23T06:30Z"),
        ("@hourly", "2026-11-20T08:00:00Z", "2026-11-20T09:00Z"),
        (" @Daily ", "2026-11-20T08:00:00Z", "2026-11-21T00:00Z"),
        ("@midnight", "2026-11-20T08:00:00Z", "2026-11-21T00:00Z"),
        ("@weekly", "2026-11-20T08:00:00Z", "2026-11-22T00:00Z"),
        ("@monthly", "2026-11-20T08:00:00Z", "2026-12-01T00:00Z"),
        ("@yearly", "2026-11-20T08:00:00Z", "2027-01-01T00:00Z"),
        ("@annually", "2026-11-20T08:00:00Z", "2027-01-01T00:00Z"),
    ],
)
def test_it_fires_at_the_first_tick_after_the_deferral(expression: str, after: str, due: str) -> None:
    assert tick(expression, after) == due


@pytest.mark.parametrize(
    ("expression", "after", "due"),
    [
        ("30 6 * * *", "2026-07-01T12:00:00Z", "2026-07-02T04:30Z"),
        ("30 6 * * *", "2026-12-01T12:00:00Z", "2026-12-02T05:30Z"),
        # Clocks go from 02:00 to 03:00 on 29 March: a daily tick in between comes at once afterwards.
        ("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00Z"),
        # From 03:00 back to 02:00 on 25 October: a daily tick in the hour that comes twice comes once.
        ("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30Z"),
        ("30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30Z"),
        ("30 2 * * *", "2026-10-25T01:10:00Z", "2026-10-26T01:30Z"),
        # One of each hour comes in both.
        ("30 * * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30Z"),
    ],
)
def test_ticks_follow_the_clocks_of_the_zone_as_crons_do(expression: str, after: str, due: str) -> None:
    assert tick(expression, after, BERLIN) == due


@given(
    st.sampled_from(["* * * * *", "30 2 * * *", "*/7 1-3 * * *", "0 */5 * * *", "15 2 25 10 *"]),
    st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe"]),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)),  # noqa: DTZ001
)
def test_a_tick_is_after_its_deferral_and_one_that_the_expression_names(
    expression: str, timezone: str, moment: datetime
) -> None:
    after = moment.replace(tzinfo=UTC)
    waiting = Cron(expression, timezone=timezone, after=after.isoformat())
    waiting.bind(services())
    due = datetime.fromtimestamp(waiting.due(), ZoneInfo(timezone))
    assert due > after
    assert due.second == 0
    if expression == "* * * * *":
        assert due - after <= timedelta(minutes=1)


@given(
    st.sampled_from(
        ["30 2 * * *", "*/7 1-3 * * *", "0 2,3 * * *", "0 */5 * * *", "0 30 2 * * *", "*/30 */20 2 * * *", "@hourly"]
    ),
    st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe"]),
    st.sampled_from(["2026-03-28", "2026-10-24", "2026-03-07", "2026-10-31", "2026-04-04", "2026-10-03"]),
)
@settings(deadline=None)
def test_each_tick_comes_once_if_each_wait_begins_at_the_tick_before(expression: str, timezone: str, day: str) -> None:
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(timezone))
    expected = Ticks.parse(expression, timezone).between(start.timestamp(), 9e9, 30)
    cursor, ticks = times.rfc3339(start.timestamp()), []
    for _ in expected:
        payload = armed(expression, cursor, timezone).payload()
        assert isinstance(payload, dict)
        assert payload["at"] == payload["cursor"]
        cursor = payload["cursor"]
        ticks.append(times.epoch(cursor))
    assert ticks == expected


def test_a_clock_that_jumps_back_does_not_fire_a_tick_twice() -> None:
    clock = VirtualClock()
    waiting = Cron("0 * * * *", cursor=times.rfc3339(clock.now() + 86_400))
    waiting.bind(services(clock=clock))
    assert waiting.due() > clock.now() + 86_400


def test_the_delay_moves_the_time_of_firing_and_not_the_tick() -> None:
    waiting = armed("0 6 * * *", "2026-11-20T06:00:00Z", delay="90s")
    assert waiting.payload() == {"at": "2026-11-21T06:00:00.000Z", "cursor": "2026-11-21T06:00:00.000Z"}
    assert waiting.due() == times.epoch("2026-11-21T06:01:30Z")
    assert Cron("0 6 * * *", delay=timedelta(seconds=90)).serialize()[1]["delay"] == 90.0


def test_a_delay_longer_than_the_period_loses_no_tick() -> None:
    first = armed("* * * * *", "2026-11-20T06:00:00Z", delay=150)
    second = armed("* * * * *", "2026-11-20T06:01:00Z", delay=150)
    assert second.due() - first.due() == 60.0


def test_a_null_cursor_begins_at_the_deferral_and_is_kept_otherwise() -> None:
    kwargs = Cron("0 * * * *", cursor=None).serialize()[1]
    assert kwargs == {"expression": "0 * * * *", "cursor": None}
    deferred = trigger.build("cron", kwargs, namespace="ns", pool="p", now=1_700_000_000.5)
    assert trigger.parse(deferred.kwargs) == {"expression": "0 * * * *", "cursor": "2023-11-14T22:13:20.500Z"}
    again = trigger.absolute("cron", trigger.parse(deferred.kwargs), 1_800_000_000.0)
    assert again == ("cron", trigger.parse(deferred.kwargs))


@pytest.mark.parametrize(
    "expression", ["0 0 * * MON#1", "0 0 LW * *", "5/15 * * jan-MAR *", "0 0 * * 5L", "1 2 3 4 5 6"]
)
def test_a_pod_accepts_every_expression(expression: str) -> None:
    assert Cron(expression).serialize() == ("cron", {"expression": expression})


def test_ticks_do_not_drift() -> None:
    at, ticks = "2026-11-20T08:03:27.25Z", []
    for _ in range(100):
        at = tick("*/10 * * * *", at).replace("Z", ":00Z")
        ticks.append(times.epoch(at))
    assert ticks == [ticks[0] + 600 * number for number in range(100)]
    assert ticks[0] % 600 == 0


def test_the_next_owner_of_a_wait_finds_the_same_tick() -> None:
    deferred = trigger.build("cron", Cron("0 * * * *").serialize()[1], namespace="ns", pool="p", now=1_700_000_000.5)
    waiting = Cron(**trigger.parse(deferred.kwargs))  # type: ignore[arg-type]
    waiting.bind(services())
    assert times.epoch(str(waiting.after)) == 1_700_000_000.5
    assert waiting.payload() == "2023-11-14T23:00:00.000Z"
    assert Cron(**waiting.serialize()[1]).serialize() == waiting.serialize()


async def test_a_triggerer_fires_it_at_its_tick_and_runs_nothing_until_then() -> None:
    async with triggerer_fixture() as world:
        await world.start("first")
        tasks = len(asyncio.all_tasks())
        world.taskrun("a", "cron", {"expression": "*/5 * * * *"}, timeout=7200)
        await world.pass_time(60)
        assert world.state_and_reason("a") == ("Deferred", None)
        assert len(asyncio.all_tasks()) == tasks
        await world.crash("first")
        await world.pass_time(3600)
        await world.start("second")
        await world.pass_time(30)
        assert world.status("a")["event"] == '"2023-11-14T22:15:00.000Z"'


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"expression": 7}, TypeError, "expression must be text"),
        ({"expression": "0 0 * *"}, ValueError, r"has 4 fields; it must have five \(minute, hour, day of month"),
        ({"expression": "0 0 0 * * * *"}, ValueError, "has 7 fields"),
        ({"expression": "@reboot"}, ValueError, "has 1 fields; .* or be one of @yearly, .*, @daily"),
        ({"expression": "? 0 0 * * *"}, ValueError, "'\\?' is not valid for the second"),
        ({"expression": "60 * * * *"}, ValueError, "'60' is not valid for the minute"),
        ({"expression": "0 0 30 2 *"}, ValueError, "never ticks"),
        ({"expression": "0 0 * * MON-"}, ValueError, "'MON-' is not valid for the day of week"),
        ({"timezone": "Europe/Berlinn"}, ValueError, "'Europe/Berlinn' is unknown"),
        ({"timezone": "../etc/passwd"}, ValueError, "not a name such as Europe/Berlin"),
        ({"timezone": "Europe"}, ValueError, "not a name such as|is unknown"),
        ({"after": "now"}, ValueError, "after: "),
        ({"delay": -1}, ValueError, "delay is -1 seconds"),
        ({"delay": "soon"}, ValueError, "delay: 'soon' is not a duration"),
        ({"cursor": "now"}, ValueError, "cursor: "),
        ({"cursor": "2026-11-20T08:00:00"}, ValueError, "cursor: .* has no offset"),
        ({"cursor": 7}, TypeError, "cursor must be text or null"),
        ({"cursor": "2026-11-20T08:00:00Z", "after": "2026-11-20T08:00:00Z"}, ValueError, "either after or cursor"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_written(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Cron(**{"expression": "0 6 * * *", **kwargs})


def test_a_time_that_never_exists_is_refused_where_it_would_wait() -> None:
    with pytest.raises(ValueError, match="never ticks in this time zone"):
        Cron("*/5 2 29 3 */7", timezone=BERLIN).bind(services())


@pytest.mark.attack
def test_a_wait_for_a_tick_in_chatham_does_not_stop_its_triggerer() -> None:
    assert tick("*/15 3 * * *", "2026-04-04T14:00:00Z", "Pacific/Chatham") == "2026-04-04T14:15Z"


def test_an_image_without_time_zones_leaves_them_to_the_triggerer() -> None:
    program = (
        "import sys, zoneinfo; zoneinfo.reset_tzpath(to=[]); sys.modules['tzdata'] = None\n"
        "from torpor.triggers import Cron\n"
        f"print(Cron('0 6 * * *', timezone='{BERLIN}').serialize())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert BERLIN in done.stdout

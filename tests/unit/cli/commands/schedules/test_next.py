import json

import pytest

from tests.support.fake_cluster import FakeCluster, Run

_FROM = ("--from", "2026-11-22T00:00:00Z")


def rows(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()[1:]]


def test_an_expression_needs_no_cluster(torpor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    code, out, err = torpor("schedule", "next", "2", "--cron", "@daily", "--timezone", "Europe/Berlin", *_FROM)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["TICK", "ZONE", "START"]
    assert rows(out) == [
        ["2026-11-23T00:00:00+01:00", "Europe/Berlin", "2026-11-22T23:00:00Z"],
        ["2026-11-24T00:00:00+01:00", "Europe/Berlin", "2026-11-23T23:00:00Z"],
    ]


def test_five_ticks_are_the_default(torpor: Run) -> None:
    out = torpor("schedule", "next", "--cron", "*/20 * * * * *", *_FROM)[1]
    assert [row[0] for row in rows(out)] == [f"2026-11-22T00:0{at}Z" for at in ("0:20", "0:40", "1:00", "1:20", "1:40")]


def test_the_ticks_of_all_cron_sources_are_in_order_with_their_jitter(cluster: FakeCluster, torpor: Run) -> None:
    sources = [
        {"name": "night", "cron": "0 2 * * *", "timezone": "Europe/Berlin"},
        {"name": "noon", "cron": "0 12 * * *"},
    ]
    cluster.schedule("daily", *sources, {"name": "files", "trigger": {"class": "object"}}, spec={"jitter": "5m"})
    wait = cluster.taskrun("daily", "night", state="Deferred")
    wait["metadata"]["labels"] = {"torpor.dev/schedule": "daily"}
    trigger = {"class": "cron", "kwargs": '{"delay":93.25,"expression":"0 2 * * *"}'}
    wait["spec"] = {"schedule": {"name": "daily", "uid": "uid-daily"}, "task": "night", "trigger": trigger}
    code, out, err = torpor("schedule", "next", "daily", "3", *_FROM)
    assert (code, err) == (0, "")
    assert rows(out) == [
        ["night", "2026-11-22T02:00:00+01:00", "Europe/Berlin", "2026-11-22T01:01:33.250Z"],
        ["noon", "2026-11-22T12:00:00Z", "UTC", "2026-11-22T12:00:00Z"],
        ["night", "2026-11-23T02:00:00+01:00", "Europe/Berlin", "2026-11-23T01:01:33.250Z"],
    ]


def test_the_wait_of_another_schedule_of_this_name_has_no_jitter_for_it(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("daily", spec={"jitter": "5m"})
    wait = cluster.taskrun("daily", "nightly", state="Deferred")
    wait["metadata"]["labels"] = {"torpor.dev/schedule": "daily"}
    wait["spec"] = {"schedule": {"name": "daily", "uid": "uid-old"}, "task": "nightly"}
    wait["spec"]["trigger"] = {"class": "cron", "kwargs": '{"delay":10}'}
    code, out, err = torpor("schedule", "next", "daily", "1", *_FROM)
    assert (code, rows(out)[0][3]) == (0, "2026-11-22T02:00:00Z")
    assert err == "the operator has not computed the jitter yet: each run starts up to 5m later\n"


def test_a_source_whose_delay_is_zero_needs_no_remark(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("daily", spec={"jitter": "1s"})
    wait = cluster.taskrun("daily", "nightly", state="Deferred")
    wait["metadata"]["labels"] = {"torpor.dev/schedule": "daily"}
    wait["spec"] = {"schedule": {"name": "daily", "uid": "uid-daily"}, "task": "nightly"}
    assert torpor("schedule", "next", "daily", "1", *_FROM)[2] == ""


def test_not_before_and_not_after_bound_the_ticks(cluster: FakeCluster, torpor: Run) -> None:
    period = {"notBefore": "2026-11-24T02:00:00Z", "notAfter": "2026-11-25T02:00:00Z"}
    cluster.schedule("daily", spec=period)
    out = torpor("schedule", "next", "daily", *_FROM)[1]
    assert [row[1] for row in rows(out)] == ["2026-11-24T02:00:00Z", "2026-11-25T02:00:00Z"]
    out, err = torpor("schedule", "next", "daily", "--from", "2026-12-01")[1:]
    assert (out, err) == ("", "no tick before notAfter, 2026-11-25T02:00:00Z\n")


def test_a_suspended_schedule_shows_its_ticks_with_a_note(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("daily", spec={"suspend": True})
    code, out, err = torpor("schedule", "next", "daily", "1", *_FROM)
    assert (code, len(rows(out))) == (0, 1)
    assert err == "daily is suspended: these ticks start no run; `torpor schedule resume daily`\n"


def test_json_has_the_tick_in_utc_and_in_the_zone(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("daily")
    assert json.loads(torpor("schedule", "next", "daily", "1", *_FROM, "-o", "json")[1]) == [
        {
            "source": "nightly",
            "tick": "2026-11-22T02:00:00Z",
            "local": "2026-11-22T02:00:00Z",
            "timezone": "UTC",
            "start": "2026-11-22T02:00:00Z",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cron", "61 * * * *"), "torpor: cron '61 * * * *': '61' is not valid for the minute"),
        (("--cron", "* * *"), "torpor: cron '* * *' has 3 fields; it must have five "),
        (("--cron", "@dayly"), "torpor: cron '@dayly' has 1 fields; it must have five "),
        (("--cron", "0 0 31 2 *"), "torpor: cron '0 0 31 2 *' never ticks: "),
        (("--cron", "@daily", "--timezone", "Europe/Berln"), 'torpor: timezone "Europe/Berln" is unknown; use '),
        (("--cron", "@daily", "ten"), "torpor: 'ten' is not a number of ticks; write "),
        (("--cron", "@daily", "0"), "torpor: 0 ticks: write 1 to 10000"),
        (("daily", "--timezone", "UTC"), "torpor: --timezone is the zone of --cron; "),
        (("daily", "--from", "soon"), "torpor: --from 'soon' is not a time; write "),
        ((), "torpor: write the NAME of a Schedule, or --cron EXPRESSION"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(torpor: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = torpor("schedule", "next", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(message)


def test_a_schedule_without_cron_source_has_no_ticks(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("drop", {"name": "files", "trigger": {"class": "object"}})
    code, _, err = torpor("schedule", "next", "drop")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("torpor: schedule drop has no cron source, so it has no ticks; ")


def test_an_unknown_schedule_suggests_the_nearest(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    message = "torpor: there is no schedule 'nigthly' in namespace team; did you mean nightly?\n"
    assert torpor("schedule", "next", "nigthly") == (1, "", message)

"""`torpor timeline`, `why`, `waits` and `compare` over real HTTP."""

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.fake_cluster import FakeCluster, Run

ESCAPE = "\x1b[2J\x07"


def entry(state: str, second: int, **fields: Any) -> dict[str, Any]:
    return {"state": state, "attempt": 1, "segment": 0, "launch": 0, "at": f"2026-11-22T10:00:{second:02d}Z", **fields}


def finished(cluster: FakeCluster, name: str = "ingest", image: str = "a:1", length: int = 10) -> None:
    """A run of two tasks that has ended: a wait, and a mapped task of ten instances."""
    body = cluster.workflow(
        name,
        *("drop", "load"),
        state="Succeeded",
        startTime="2026-11-22T10:00:00Z",
        completionTime=f"2026-11-22T10:00:{length + 10}Z",
        tasks=[{"name": task, "state": "Succeeded"} for task in ("drop", "load")],
    )
    body["spec"] |= {"image": image, "params": {"day": name, "same": 1}}
    body["spec"]["tasks"][1]["expand"] = [{"name": "x", "over": [1]}]
    history = [entry("Running", 1), entry("Deferred", 2, trigger="time"), entry("Succeeded", 9)]
    cluster.taskrun(name, "drop", history=history, completionTime="2026-11-22T10:00:09Z")
    end = f"2026-11-22T10:00:{length + 10}Z"
    for number in range(10):
        history = [entry("Running", 10), {**entry("Succeeded", 0), "at": end}]
        started = "2026-11-22T10:00:10Z"
        cluster.taskrun(name, "load", number, history=history, startedAt=started, completionTime=end)


def deferred(cluster: FakeCluster, number: int, url: str = "https://example.org/x", **status: Any) -> None:
    trigger = {"class": "http", "kwargs": json.dumps({"url": url}), "key": url, "shard": 3, "waitsFor": f"http {url}"}
    since = {"deferredAt": "2026-11-22T10:00:00Z"}
    cluster.taskrun("ingest", "load", number, state="Deferred", trigger=trigger, **since, **status)


def test_the_timeline_folds_a_mapped_task_and_wide_shows_each_instance(cluster: FakeCluster, torpor: Run) -> None:
    finished(cluster)
    code, out, err = torpor("timeline", "ingest")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "ingest  Succeeded  20s"
    drop = next(line for line in lines if line.startswith("drop"))
    assert "█" in drop
    assert "░" in drop
    assert any(line.startswith("load (10)") and line.endswith("10 Succeeded 10s") for line in lines)
    assert "load/9" not in out
    assert torpor("timeline", "ingest", "-o", "wide")[1].count("load/") == 10


def test_the_timeline_of_one_task_keeps_the_time_of_the_run(cluster: FakeCluster, torpor: Run) -> None:
    finished(cluster)
    out = torpor("timeline", "ingest/drop")[1]
    assert out.startswith("ingest  Succeeded  20s")
    assert "load" not in out
    assert torpor("timeline", "ingest/load/3")[1].count("load/3") == 1
    assert torpor("timeline", "ingest/lod")[2].endswith("did you mean load?\n")


def test_the_timeline_names_the_tasks_that_have_not_started(cluster: FakeCluster, torpor: Run) -> None:
    states = [{"name": "drop", "state": "Failed"}, {"name": "load", "state": "UpstreamFailed"}]
    cluster.workflow("ingest", "drop", "load", state="Failed", tasks=states)
    cluster.taskrun("ingest", "drop", state="Failed", history=[entry("Running", 1), entry("Failed", 9)])
    assert torpor("timeline", "ingest")[1].endswith("\nNot started: load (UpstreamFailed).\n")
    assert "Not started" not in torpor("timeline", "ingest/drop")[1]


def test_compare_takes_runs_only(cluster: FakeCluster, torpor: Run) -> None:
    finished(cluster)
    code, _, err = torpor("compare", "ingest", "ingest/load")
    assert (code, err.count("\n")) == (2, 1)


def test_the_picture_is_well_formed_whatever_the_names_are(cluster: FakeCluster, torpor: Run) -> None:
    finished(cluster)
    for item in cluster.objects["taskruns"].values():
        item["spec"]["displayName"] = f"<b>&{ESCAPE}"
    code, out, _ = torpor("timeline", "ingest", "-o", "svg")
    assert code == 0
    assert ET.fromstring(out).tag == "{http://www.w3.org/2000/svg}svg"
    assert "\x1b" not in torpor("timeline", "ingest")[1]


def test_objects_without_history_are_drawn_and_said(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load", state="Succeeded", completionTime="2026-11-22T10:00:09Z")
    moments = {"startedAt": "2026-11-22T10:00:03Z", "completionTime": "2026-11-22T10:00:09Z"}
    cluster.taskrun("ingest", "load", **moments)
    code, out, _ = torpor("timeline", "ingest")
    assert code == 0
    assert out.splitlines()[-1] == "1 of 1 TaskRuns has no history, so only the last attempt is drawn."


def test_a_run_without_taskruns_has_a_timeline(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load")
    assert torpor("timeline", "ingest")[1].endswith("No task has started.\n")


def test_the_timeline_of_an_archived_run(cluster: FakeCluster, torpor: Run) -> None:
    finished(cluster)
    workflow, taskruns = cluster.objects["workflows"].pop("ingest"), list(cluster.objects["taskruns"].values())
    cluster.objects["taskruns"].clear()
    cluster.archive_run(workflow, *taskruns)
    assert torpor("timeline", "ingest")[1].startswith("ingest  Succeeded")
    code, out, _ = torpor("timeline", "ingest", "-o", "json")
    assert (code, len(json.loads(out)["rows"])) == (0, 11)


def test_an_earlier_run_of_the_same_name_is_read_by_its_uid(cluster: FakeCluster, torpor: Run) -> None:
    uid = "17acf01b-dcd6-4e77-b541-4020dcd1fec0"
    earlier = {**cluster.workflow("ingest", "load", state="Failed"), "metadata": {"name": "ingest", "uid": uid}}
    cluster.archive_run(earlier)
    cluster.workflow("ingest", "load", state="Succeeded")
    assert torpor("timeline", uid)[1].startswith("ingest  Failed")
    assert torpor("timeline", "ingest")[1].startswith("ingest  Succeeded")
    code, _, err = torpor("timeline", uid.replace("1", "2"))
    assert (code, err.count("\n")) == (1, 1)


def test_why_is_a_sentence_and_below_it_a_command(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load")
    for number in range(3):
        deferred(cluster, number, reason="PoolUnserved", message="no triggerer of pool default")
    code, out, err = torpor("why", "ingest")
    assert (code, err) == (0, "")
    sentence, command = out.splitlines()[:2]
    assert sentence.startswith("Task load/0 ")
    assert sentence.endswith("(2 more instances of load have the same cause.)")
    assert command.startswith("    kubectl ")
    assert torpor("why", "ingest/load/1")[1].startswith("Task load/1 ")
    assert torpor("why", "ingest", "-o", "name")[1].startswith("taskrun.torpor.dev/ingest-load-0-")
    assert json.loads(torpor("why", "ingest", "-o", "json")[1])[0]["kind"] == "PoolUnserved"


def test_why_works_without_the_right_to_read_pods_and_events(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load")
    deferred(cluster, 0)
    cluster.forbidden = {"pods", "events"}
    code, out, err = torpor("why", "ingest/load")
    assert (code, err) == (0, "")
    assert out.startswith("Task load/0 ")


def test_why_of_a_run_that_ended_well(cluster: FakeCluster, torpor: Run) -> None:
    finished(cluster)
    code, out, _ = torpor("why", "ingest")
    assert code == 0
    assert out.startswith("Run ingest succeeded")


def test_escape_sequences_of_messages_are_visible(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load")
    deferred(cluster, 0, f"https://example.org/{ESCAPE}", reason="Waiting", message=f"looks {ESCAPE}")
    for arguments in (("why", "ingest"), ("waits",), ("waits", "-o", "wide"), ("compare", "ingest", "ingest")):
        code, out, err = torpor(*arguments)
        assert code == 0
        assert not {"\x1b", "\x07"} & set(out + err)


def test_waits_are_grouped_by_source_with_the_triggers_that_they_share(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load")
    for number in range(4):
        deferred(cluster, number, "https://example.org/a" if number else "https://other.example/b")
    cluster.taskrun("ingest", "rest", state="Running")
    code, out, err = torpor("waits", "-A")
    assert (code, err) == (0, "")
    head, first, second = (line.split() for line in out.splitlines())
    assert head[:6] == ["POOL", "CLASS", "SOURCE", "WAITS", "TRIGGERS", "QUERIES"]
    assert first[:6] == ["default", "http", "https://example.org/a", "3", "1", "1"]
    assert second[:6] == ["default", "http", "https://other.example/b", "1", "1", "1"]
    assert torpor("waits", "-o", "wide")[1].count("\n") == 5
    assert torpor("waits", "-o", "name")[1].count("taskrun.torpor.dev/") == 4
    assert len(json.loads(torpor("waits", "-o", "json")[1])) == 2


def test_no_waits_are_said_on_standard_error(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load")
    assert torpor("waits") == (0, "", "no task waits in namespace team\n")


def test_two_runs_side_by_side(cluster: FakeCluster, torpor: Run) -> None:
    finished(cluster, "monday")
    finished(cluster, "tuesday", image="a:2", length=20)
    code, out, err = torpor("compare", "monday", "tuesday")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert ["load", "Succeeded", "10/10", "Succeeded", "10/10", "10s", "20s", "+10s", "(+100%)"] in rows
    assert ["day", "monday", "tuesday"] in rows
    assert ["load", "a:1", "a:2"] in rows
    equal = ["same", "1", "1"]
    assert equal not in rows
    assert equal in [line.split() for line in torpor("compare", "monday", "tuesday", "-o", "wide")[1].splitlines()]
    document = json.loads(torpor("compare", "monday", "tuesday", "-o", "json")[1])
    assert (document["left"], len(document["tasks"])) == ("monday", 2)


@pytest.mark.parametrize("command", ["timeline", "why"])
def test_an_unknown_run_suggests_the_nearest(cluster: FakeCluster, torpor: Run, command: str) -> None:
    cluster.workflow("ingest", "load")
    code, out, err = torpor(command, "ingset")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "did you mean ingest?" in err


def test_ten_thousand_instances_are_a_few_lines(cluster: FakeCluster, torpor: Run) -> None:
    body = cluster.workflow("ingest", "load")
    body["spec"]["tasks"][0]["expand"] = [{"name": "x", "over": [1]}]
    for number in range(10_000):
        cluster.taskrun("ingest", "load", number, state="Running", startedAt="2026-11-22T10:00:03Z")
    for arguments in (("timeline", "ingest"), ("why", "ingest")):
        code, out, _ = torpor(*arguments)
        assert code == 0
        assert out.count("\n") < 15


def test_long_values_are_shown_where_they_differ(cluster: FakeCluster, torpor: Run) -> None:
    for name in ("monday", "tuesday"):
        finished(cluster, name)
        cluster.objects["workflows"][name]["spec"]["params"] = {"query": f"SELECT {'x, ' * 40}FROM {name}"}
    out = torpor("compare", "monday", "tuesday")[1]
    assert "FROM monday" in out
    assert "FROM tuesday" in out

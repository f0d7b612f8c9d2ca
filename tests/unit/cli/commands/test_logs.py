"""`torpor logs` over real HTTP: pods, waits and the archive as one stream."""

import json
from collections.abc import Callable

import pytest

from tests.support.fake_cluster import FakeCluster, Object, Run
from tests.unit.cli.commands.log_lines import at, second, texts


def test_pods_waits_and_the_archive_are_one_stream_in_the_order_of_time(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    taskrun = load()
    pod = cluster.pod(taskrun, 1, 1, started=second(8), ended=second(9))
    cluster.write(pod, at(8.5, "resumed"), at(9, "done"))
    cluster.archive_log("load", lines=[at(2, "begin"), at(3, "defer")])
    cluster.archive_log("load", kind="wait", started=second(4), lines=[at(4, "first look"), at(8, "fires")])
    code, out, err = torpor("logs", "ingest", "--timestamps")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "load a1 s0      | 2026-11-22T10:00:02.000Z begin",
        "load a1 s0      | 2026-11-22T10:00:03.000Z defer",
        "load a1 s0 wait | 2026-11-22T10:00:04.000Z first look",
        "load a1 s0 wait | 2026-11-22T10:00:08.000Z fires",
        "load a1 s1      | 2026-11-22T10:00:08.500Z resumed",
        "load a1 s1      | 2026-11-22T10:00:09.000Z done",
    ]


def test_a_pod_that_exists_and_is_archived_is_shown_once(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    pod = cluster.pod(load(), started=second(2), ended=second(3))
    cluster.write(pod, at(2, "begin"))
    cluster.archive_log("load", lines=[at(2, "begin")], id=cluster.objects["pods"][pod]["metadata"]["uid"])
    assert torpor("logs", "ingest")[1].count("begin") == 1


def test_the_log_from_before_a_clear_is_shown_beside_that_of_the_present_pod(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    again = load()
    again["metadata"]["creationTimestamp"] = second(59)
    cluster.put("taskruns", again)
    cluster.write(cluster.pod(again, started=second(60), ended=second(61)), at(60, "again"))
    cluster.archive_log("load", ended=second(3), lines=[at(2, "first")])
    assert torpor("logs", "ingest")[1] == "load a1 s0 earlier | first\nload a1 s0         | again\n"


def test_all_pages_of_the_archives_list_are_read(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    for number in range(5):
        load(number)
        cluster.archive_log("load", number, lines=[at(2 + number, f"{number}")])
    assert texts(torpor("logs", "ingest")) == ["0", "1", "2", "3", "4"]


def test_escape_sequences_of_a_container_are_shown_as_text(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    pod = cluster.pod(load(), started=second(2), ended=second(3))
    cluster.write(pod, at(2, "\x1b[2Jgone\x07 \u202eevil\r"))
    out = torpor("logs", "ingest")[1]
    assert out == "load a1 s0 | \\x1b[2Jgone\\x07 \\u202eevil\n"


def test_json_lines_have_time_and_source(cluster: FakeCluster, torpor: Run, load: Callable[..., Object]) -> None:
    pod = cluster.pod(load(3), started=second(2), ended=second(3))
    cluster.write(pod, at(2.25, 'a "b"'))
    line = json.loads(torpor("logs", "ingest", "-o", "json")[1])
    assert line == {
        "at": "2026-11-22T10:00:02.250Z",
        "task": "load",
        "index": "3",
        "attempt": 1,
        "segment": 0,
        "launch": 0,
        "kind": "pod",
        "earlier": False,
        "text": 'a "b"',
    }


def test_what_was_lost_is_said(cluster: FakeCluster, torpor: Run, load: Callable[..., Object]) -> None:
    history = [{"state": "Running", "attempt": 1, "segment": 1, "launch": 0, "at": second(5), "pod": "p"}]
    load(history=history)
    cluster.archive_log("load", lines=[], state="Lost", reason="NodeLost", message="node n1 does not respond")
    code, out, err = torpor("logs", "ingest")
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "load a1 s0: log not shown completely: lost: NodeLost: node n1 does not respond",
        "load a1 s1: log not shown completely: the pod is gone, and the archive has no log of it",
    ]


def test_a_log_that_the_archive_has_in_part_is_shown_and_said(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    load()
    cluster.archive_log("load", lines=[at(2, "head")], reason="Incomplete", message="the node went away")
    code, out, err = torpor("logs", "ingest")
    assert (code, out) == (0, "load a1 s0 | head\n")
    assert err == "load a1 s0: log not shown completely: partly kept: Incomplete: the node went away\n"


def test_a_node_that_answers_with_a_sentence_has_no_log(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    pod = cluster.pod(load(), started=second(2), ended=second(3))
    cluster.write(pod, "unable to retrieve container logs for containerd://0815")
    code, out, err = torpor("logs", "ingest")
    assert (code, out) == (0, "")
    assert err.startswith("load a1 s0: it cannot be read completely: the node has no log: unable to retrieve")


def test_a_marker_of_omitted_lines_stays_in_its_place(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    load()
    cluster.archive_log("load", lines=[at(2, "head"), "... 812 bytes omitted ...", at(9, "tail")])
    assert torpor("logs", "ingest", "--no-prefix")[1].splitlines() == ["head", "... 812 bytes omitted ...", "tail"]


def test_without_the_archive_the_live_part_is_shown_and_said(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    cluster.write(cluster.pod(load(), started=second(2), ended=second(3)), at(2, "live"))
    cluster.archive_away = True
    code, out, err = torpor("logs", "ingest")
    assert (code, out) == (0, "load a1 s0 | live\n")
    assert err.startswith("only logs of pods that exist are shown: the archive ")
    assert err.count("\n") == 1


def test_an_archived_run_is_read_by_name(cluster: FakeCluster, torpor: Run, load: Callable[..., Object]) -> None:
    taskrun = load()
    cluster.archive_run(cluster.objects["workflows"].pop("ingest"), cluster.objects["taskruns"].pop(_name(taskrun)))
    cluster.archive_log("load", lines=[at(2, "kept")])
    code, out, _ = torpor("logs", "ingest/load", "-f")
    assert (code, out) == (0, "load a1 s0 | kept\n")


def test_unknown_names_suggest_the_nearest(torpor: Run, load: Callable[..., Object]) -> None:
    load(0)
    load(1)
    assert torpor("logs", "ingets")[2].endswith("did you mean ingest?\n")
    assert torpor("logs", "ingest/laod")[2].endswith("did you mean load?\n")
    code, out, err = torpor("logs", "ingest/load/7")
    assert (code, out) == (1, "")
    assert err == "torpor: there is no instance load/7 in run ingest; load has 0-1\n"


@pytest.mark.parametrize(
    "arguments", [("--since", "yesterday"), ("--tail", "-1"), ("--failed", "-f"), ("-o", "wide"), ("-c", "db", "-f")]
)
def test_bad_options_are_usage_errors(torpor: Run, load: Callable[..., Object], arguments: tuple[str, ...]) -> None:
    load()
    code, _, err = torpor("logs", "ingest", *arguments)
    assert code == 2
    assert err.startswith("torpor: ")
    assert err.count("\n") == 1


def test_a_run_without_logs_points_to_why(torpor: Run, run: Object) -> None:
    code, out, err = torpor("logs", "ingest")
    assert (code, out) == (0, "")
    assert "`torpor why ingest`" in err


def test_a_task_that_ended_without_lines_has_no_log(torpor: Run, load: Callable[..., Object]) -> None:
    load()
    assert torpor("logs", "ingest/load") == (0, "", "there is no log of ingest/load\n")


def test_a_task_that_waits_has_its_lines_when_the_wait_ends(torpor: Run, load: Callable[..., Object]) -> None:
    load(state="Deferred")
    assert torpor("logs", "ingest/load")[2] == (
        "there is no log yet: the archive keeps the lines of a wait when it ends; see `torpor why ingest/load`\n"
    )


def test_a_pod_that_vanishes_while_it_is_read_does_not_end_the_stream(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    gone = cluster.pod(load(0), started=second(2), ended=second(3))
    cluster.write(cluster.pod(load(1), started=second(4), ended=second(5)), at(4, "there"))
    del cluster.logs[gone]
    code, out, err = torpor("logs", "ingest")
    assert (code, texts((code, out, err))) == (0, ["there"])
    assert err.startswith("load[0] a1 s0: it was deleted while it was read")


def test_many_logs_that_overlap_are_merged_with_few_connections(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    for number in range(120):
        pod = cluster.pod(load(number), started=second(2), ended=second(60))
        cluster.write(pod, *(at(2 + number / 1000 + turn * 10, f"{turn} {number}") for turn in range(3)))
    expected = [f"{turn} {number}" for turn in range(3) for number in range(120)]
    assert texts(torpor("logs", "ingest")) == expected
    assert cluster.most_open_logs <= 64


def _name(item: Object) -> str:
    name: str = item["metadata"]["name"]
    return name


def test_an_empty_log_is_not_silence(cluster: FakeCluster, torpor: Run, load: Callable[..., Object]) -> None:
    cluster.pod(load(state="Scheduled"), started=second(2), ended=second(3))
    assert torpor("logs", "ingest") == (
        0,
        "",
        "the log of ingest is empty; `torpor why ingest` explains what the tasks wait for\n",
    )
    load(state="Failed")
    assert torpor("logs", "ingest/load") == (0, "", "the log of ingest/load is empty\n")


def test_options_that_match_no_line_are_named(cluster: FakeCluster, torpor: Run, load: Callable[..., Object]) -> None:
    pod = cluster.pod(load(attempt=2), 2, started=second(2), ended=second(3))
    cluster.write(pod, at(2, "begin"))
    cluster.archive_log("load", lines=[at(1, "first")])
    assert torpor("logs", "ingest", "--since", "1s") == (0, "", "no line of ingest matches --since 1s\n")
    assert torpor("logs", "ingest", "--segment", "4") == (0, "", "no line of ingest matches --segment 4\n")
    message = "torpor: ingest/load has no attempt 5; it had 2 attempts so far\n"
    assert torpor("logs", "ingest/load", "--attempt", "5") == (1, "", message)
    assert torpor("logs", "ingest", "--tail", "0") == (0, "", "")


def test_a_run_that_ended_without_taskruns_has_no_log(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("invalid", "a", state="Failed", completionTime="2026-11-22T10:01:00Z")
    assert torpor("logs", "invalid") == (0, "", "there is no log of invalid\n")


def test_pods_that_have_not_started_are_counted(cluster: FakeCluster, torpor: Run, load: Callable[..., Object]) -> None:
    for number in range(2):
        entry = {"state": "Running", "attempt": 1, "segment": 0, "launch": 0, "at": second(2)}
        taskrun = load(number, state="Running")
        pod = cluster.pod(taskrun, started=second(2))
        taskrun["status"]["history"] = [{**entry, "pod": pod}]
        cluster.objects["pods"][pod]["status"] = {"phase": "Pending"}
    assert torpor("logs", "ingest") == (
        0,
        "",
        "there is no log yet: 2 pods have not started; `torpor why ingest` explains why\n",
    )
    assert "1 pod has not started" in torpor("logs", "ingest/load/1")[2]


@pytest.mark.parametrize("known", [True, False])
def test_a_user_without_access_to_the_archive_sees_that_it_was_not_read(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object], known: bool
) -> None:
    cluster.readers = set()
    history = [{"state": "Running", "at": "2026-11-20T10:00:00Z", "attempt": 1, "pod": "p"}] if known else []
    load(state="Succeeded", history=history)
    code, out, err = torpor("logs", "ingest/load", "--as", "ann")
    assert (code, out) == (0, "")
    assert "you may not create a token of ServiceAccount torpor-archive-reader" in err
    assert "the archive was not read" in err
    assert "has no log" not in err
    assert "there is no log" not in err

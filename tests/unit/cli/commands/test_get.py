import threading
import time

import pytest
from torpor_wire import constants

from tests.support.fake_cluster import FakeCluster, Run

_ENDED = "2026-11-22T10:01:00Z"


def test_a_run_is_a_tree_with_folded_tasks_and_what_they_wait_for(cluster: FakeCluster, torpor: Run) -> None:
    workflow = cluster.workflow("ingest", "drop", "load", progress="1/4")
    workflow["spec"]["tasks"][1]["expand"] = [{"name": "path", "over": "${[1]}"}]
    cluster.taskrun("ingest", "drop", state="Deferred", trigger={"class": "http", "waitsFor": "https://x/_SUCCESS"})
    cluster.taskrun("ingest", "load", 0)
    cluster.taskrun("ingest", "load", 1, state="Failed", reason="Error", message="no")
    code, out, err = torpor("get", "ingest")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "NAME STATE DURATION DETAILS"
    assert "drop Deferred" in lines[2]
    assert "waits for https://x/_SUCCESS" in lines[2]
    assert "load" in lines[3]
    assert "2/2, 1 failed" in lines[3]


def test_a_task_of_the_run_shows_its_instances(cluster: FakeCluster, torpor: Run) -> None:
    workflow = cluster.workflow("ingest", "load", "report")
    workflow["spec"]["tasks"][0]["expand"] = [{"name": "path", "over": "${[1]}"}]
    cluster.taskrun("ingest", "load", 0)
    cluster.taskrun("ingest", "load", 1, state="Failed", message="no")
    _, out, _ = torpor("get", "ingest/load")
    assert "report" not in out
    assert "├─ 1" in out
    _, names, _ = torpor("get", "ingest/load/1", "-o", "name")
    assert names.startswith("taskrun.torpor.dev/ingest-load-1-")


def test_latest_is_the_run_created_last(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("old", "a")
    cluster.workflow("new", "a")["metadata"]["creationTimestamp"] = "2026-11-22T11:00:00Z"
    assert torpor("get", "@latest", "-o", "name") == (0, "workflow.torpor.dev/new\n", "")


def test_a_wrong_name_suggests_the_nearest(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest-x7", "load")
    assert torpor("get", "ingest-7x") == (
        1,
        "",
        "torpor: there is no run 'ingest-7x' in namespace team; did you mean ingest-x7?\n",
    )
    assert torpor("get", "ingest-x7/laod")[2] == "torpor: there is no task 'laod'; did you mean load?\n"


def test_an_archived_run_is_shown_and_said_to_be_archived(cluster: FakeCluster, torpor: Run) -> None:
    workflow = cluster.workflow("gone", "a", state="Succeeded", completionTime=_ENDED)
    cluster.delete("workflows", "gone")
    cluster.archive_run(workflow)
    code, out, err = torpor("get", "gone")
    assert code == 0
    assert "gone" in out
    assert err == "this run is in the archive; the cluster no longer has it\n"


def test_following_an_archived_run_shows_it_and_exits_by_its_outcome(cluster: FakeCluster, torpor: Run) -> None:
    workflow = cluster.workflow("gone", "a", state="Failed", completionTime=_ENDED)
    cluster.delete("workflows", "gone")
    cluster.archive_run(workflow)
    code, out, _ = torpor("get", "gone", "-w")
    assert (code, "Failed" in out) == (3, True)


def test_with_the_archive_away_an_unknown_run_says_both(cluster: FakeCluster, torpor: Run) -> None:
    cluster.archive_away = True
    code, _, err = torpor("get", "gone")
    assert code == 1
    assert "the archive cannot be read: no endpoints available" in err
    assert "there is no run 'gone'" in err


def test_escape_sequences_of_names_and_messages_are_text(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("evil", "a")
    cluster.taskrun("evil", "a", state="Failed", message="\x1b[2J\u202egone\x07", reason="Error")
    _, out, _ = torpor("get", "evil", "-o", "wide")
    assert "\x1b" not in out
    assert "\\x1b[2J\\u202egone\\x07" in out
    cluster.objects["workflows"]["evil"]["metadata"]["labels"] = {"a": "\x1b]0;x\x07"}
    for output in ("json", "yaml"):
        assert "\x1b" not in torpor("get", "evil", "-o", output)[1]


def test_no_rights_is_one_line_with_what_to_do(cluster: FakeCluster, torpor: Run) -> None:
    cluster.forbidden.add("workflows")
    code, out, err = torpor("get", "x")
    assert (code, out) == (1, "")
    assert err.startswith("torpor: workflows is forbidden; ask for ClusterRole view to read, edit to change")
    assert err.count("\n") == 1


def test_ten_thousand_instances_are_folded_and_the_run_is_shown_first(cluster: FakeCluster, torpor: Run) -> None:
    workflow = cluster.workflow("wide", "load", progress="10000/10001")
    workflow["spec"]["tasks"][0]["expand"] = [{"name": "path", "over": "${[1]}"}]
    workflow["status"]["tasks"] = [{"name": "load", "state": "Running", "total": 10_000, "created": 10_000}]
    for index in range(10_000):
        cluster.taskrun("wide", "load", index)
    code, out, _ = torpor("get", "wide")
    assert code == 0
    assert "10000/10000" in out
    assert len(out.splitlines()) == 3


def test_objects_of_an_older_version_have_no_history(cluster: FakeCluster, torpor: Run) -> None:
    workflow = cluster.workflow("old", "a")
    del workflow["status"]
    del cluster.taskrun("old", "a")["status"]
    code, out, _ = torpor("get", "old")
    assert code == 0
    assert "Pending" in out


@pytest.mark.parametrize(
    ("state", "reason", "code"),
    [("Succeeded", "Succeeded", 0), ("Failed", "TaskFailed", 3), ("Failed", "Cancelled", 4)],
)
def test_following_prints_a_line_a_transition_and_exits_by_the_outcome(
    cluster: FakeCluster, torpor: Run, state: str, reason: str, code: int
) -> None:
    cluster.workflow("x", "a", progress="0/1")
    cluster.taskrun("x", "a", state="Scheduled")

    def play() -> None:
        _until_watched(cluster)
        cluster.taskrun("x", "a", state="Running")
        cluster.taskrun("x", "a", state=state)
        ended = {"completionTime": _ENDED, "conditions": [{"type": "Succeeded", "status": "False", "reason": reason}]}
        cluster.workflow("x", "a", state=state, progress="1/1", **ended)

    player = threading.Thread(target=play)
    player.start()
    exit_code, out, err = torpor("get", "x", "-w")
    player.join()
    assert (exit_code, err) == (code, "")
    words = [line.split()[1:3] for line in out.splitlines()]
    assert ["a", "Scheduled"] in words
    assert ["a", "Running"] in words
    assert words[-1][0] == "x"
    assert "\x1b" not in out


def test_a_followed_run_that_is_deleted_ends_the_command(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("x", "a")

    def delete() -> None:
        _until_watched(cluster)
        cluster.delete("workflows", "x")

    deleting = threading.Thread(target=delete)
    deleting.start()
    code, _, err = torpor("get", "x", "-w")
    deleting.join()
    assert (code, err) == (1, "torpor: run x was deleted\n")


def test_a_taskrun_of_an_earlier_run_of_this_name_is_left_out(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("x", "a")
    stranger = cluster.taskrun("x", "a", state="Failed")
    stranger["metadata"]["ownerReferences"][0]["uid"] = "another"
    assert stranger["metadata"]["labels"][constants.LABEL_WORKFLOW] == "x"
    assert "Failed" not in torpor("get", "x")[1]


def test_a_stalled_run_shows_the_reason_on_its_line(cluster: FakeCluster, torpor: Run) -> None:
    stalled = {"type": "Stalled", "status": "True", "reason": "NamespaceNotReady", "message": "run these commands: x"}
    cluster.workflow("early", "a", progress="0/1", conditions=[stalled])
    line = torpor("get", "early")[1].splitlines()[1]
    assert line.endswith("0/1  NamespaceNotReady: run these commands: x")
    cluster.workflow("early", "a", progress="0/1", conditions=[{**stalled, "status": "False"}])
    assert "NamespaceNotReady" not in torpor("get", "early")[1]


def test_the_name_that_o_name_prints_is_accepted(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("x", "a", state="Succeeded", completionTime=_ENDED)
    (name,) = torpor("get", "x", "-o", "name")[1].split()
    for command in (("get", name), ("logs", name), ("wait", name), ("get", f"{name}/a")):
        assert torpor(*command)[0] == 0


@pytest.mark.parametrize("name", ["ba*", "BAD", "b d"])
def test_what_is_no_name_is_unknown_and_the_archive_is_not_asked(cluster: FakeCluster, torpor: Run, name: str) -> None:
    cluster.workflow("bad", "a")
    code, out, err = torpor("get", name)
    assert (code, out) == (1, "")
    assert err.startswith(f"torpor: there is no run '{name}' in namespace team; did you mean bad?")
    assert not any("services" in request for request in cluster.requests)


def _until_watched(cluster: FakeCluster) -> None:
    """Wait until the command has listed the Workflow and the TaskRuns, and watches them."""
    ends = time.monotonic() + 180
    while sum("watch=true" in request for request in list(cluster.requests)) < 2:
        assert time.monotonic() < ends, "the command does not watch"
        time.sleep(0.02)


def test_following_prints_tasks_that_end_without_a_taskrun(cluster: FakeCluster, torpor: Run) -> None:
    skipped = {"name": "a", "state": "Skipped", "reason": "Skipped"}
    cluster.workflow("x", "a", "b", "c", progress="0/2", tasks=[skipped])

    def play() -> None:
        _until_watched(cluster)
        failed = {"name": "b", "state": "Failed", "reason": "ExpressionInvalid", "message": "no key rows"}
        after = {"name": "c", "state": "UpstreamFailed", "reason": "UpstreamFailed", "message": "upstream task b"}
        with_taskrun = {"name": "d", "state": "Failed", "reason": "Error", "created": 1}
        status = {"completionTime": _ENDED, "tasks": [skipped, failed, after, with_taskrun]}
        cluster.workflow("x", "a", "b", "c", state="Failed", progress="2/2", **status)

    player = threading.Thread(target=play)
    player.start()
    _, out, _ = torpor("get", "x", "-w")
    player.join()
    shown = [" ".join(line.split()[1:]) for line in out.splitlines()]
    assert shown == [
        "x Running 0/2",
        "b Failed ExpressionInvalid: no key rows",
        "c UpstreamFailed upstream task b",
        "x Failed 2/2",
    ]


def test_what_started_a_run_is_noted(cluster: FakeCluster, torpor: Run) -> None:
    run = cluster.run_of("nightly", "nightly-a", "2026-11-21T02:00:00.000Z")
    note = "started by schedule nightly (nightly) for 2026-11-21T02:00:00Z"
    assert torpor("get", "nightly-a")[2] == f"{note}\n"
    run["spec"] |= {"templateRef": {"name": "ingest"}}
    assert torpor("get", "nightly-a")[2] == f"{note}; created from template ingest\n"


def test_a_run_whose_template_is_not_copied_yet_has_no_tasks(cluster: FakeCluster, torpor: Run) -> None:
    run = cluster.workflow("x", state="Pending")
    run["spec"] = {"templateRef": {"name": "ingest"}}
    code, out, err = torpor("get", "x")
    assert (code, len(out.splitlines()), err) == (0, 2, "created from template ingest\n")
    assert torpor("get", "x/a")[0] == 1
    for command in ("why", "timeline", "waits", "logs"):
        code, _, err = torpor(command, "x")
        assert "Traceback" not in err

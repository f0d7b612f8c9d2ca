"""`torpor logs`: which logs and lines its options choose."""

from collections.abc import Callable

from tests.support.fake_cluster import FakeCluster, Object, Run
from tests.unit.cli.commands.log_lines import HOUR, at, second, texts


def test_task_index_attempt_segment_and_failed_choose_logs(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    for number, state in enumerate(("Succeeded", "Failed")):
        taskrun = load(number, state=state, attempt=2)
        for attempt in (1, 2):
            started = 10 * number + attempt
            pod = cluster.pod(taskrun, attempt, attempt - 1, started=second(started), ended=second(started + 1))
            cluster.write(pod, at(started, f"{number} a{attempt}"))
    assert texts(torpor("logs", "ingest")) == ["0 a1", "0 a2", "1 a1", "1 a2"]
    assert texts(torpor("logs", "ingest/load/1")) == ["1 a1", "1 a2"]
    assert texts(torpor("logs", "ingest", "--attempt", "2")) == ["0 a2", "1 a2"]
    assert texts(torpor("logs", "ingest", "--segment", "0")) == ["0 a1", "1 a1"]
    assert texts(torpor("logs", "ingest", "--failed")) == ["0 a1", "1 a1", "1 a2"]
    assert texts(torpor("logs", "ingest", "--since", second(11))) == ["1 a1", "1 a2"]


def test_tail_is_for_each_log_live_and_archived(cluster: FakeCluster, torpor: Run, load: Callable[..., Object]) -> None:
    pod = cluster.pod(load(0), started=second(20), ended=second(30))
    cluster.write(pod, *(at(20 + number, f"live {number}") for number in range(5)))
    cluster.archive_log("load", 1, lines=[at(2 + number, f"kept {number}") for number in range(5)])
    assert texts(torpor("logs", "ingest", "--tail", "2")) == ["kept 3", "kept 4", "live 3", "live 4"]
    assert texts(torpor("logs", "ingest", "--tail", "0")) == []


def test_since_also_leaves_out_the_earlier_lines_of_a_log(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    pod = cluster.pod(load(0), started=second(20), ended=second(30))
    cluster.write(pod, at(20, "early"), at(25.25, "just before"), at(25.5, "late"))
    cluster.archive_log("load", 1, lines=[at(2, "kept early"), at(26, "kept late")])
    assert texts(torpor("logs", "ingest", "--since", f"{HOUR}00:25.5Z")) == ["late", "kept late"]


def test_the_log_of_a_sidecar_is_read_by_its_name(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    pod = cluster.pod(load(), started=second(2), ended=second(3))
    body = cluster.objects["pods"][pod]
    body["status"]["initContainerStatuses"] = [
        {"name": "db", "state": {"running": {"startedAt": second(1)}}},
        {"name": "fetch", "state": {"waiting": {}}},
    ]
    cluster.write(pod, at(2, "ready"))
    cluster.archive_log("load", lines=[at(2, "of the task")])
    assert texts(torpor("logs", "ingest", "-c", "db")) == ["ready"]
    assert torpor("logs", "ingest", "-c", "fetch")[1] == ""
    assert torpor("logs", "ingest", "-c", "nobody")[1] == ""

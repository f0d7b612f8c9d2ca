"""`torpor logs -f` over real HTTP: the logs of a run that goes on."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable

import pytest
from torpor_cli.changes.submission import FollowUp, follow_up
from torpor_cli.cluster.connect import connect
from torpor_cli.commands.view.logs import follow_logs
from torpor_cli.errors import ExitCode, UsageError
from torpor_cli.target import TargetOptions

from tests.support.fake_cluster import FakeCluster, Object, Run
from tests.unit.cli.commands.log_lines import at, second, texts


def test_follow_joins_new_pods_reconnects_and_ends_with_the_run(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    first = cluster.pod(load(0), started=second(2))
    cluster.write(first, at(2, "one"), at(2, "same moment"))
    cluster.logs[first].breaks = 1

    def go_on() -> None:
        _until(lambda: any("follow=true" in request for request in cluster.requests))
        cluster.write(first, at(3, "two"))
        second_pod = cluster.pod(load(1), started=second(4))
        cluster.write(second_pod, at(4, "three"))
        _until(lambda: sum(request.count("follow=true") for request in cluster.requests) >= 3)
        for pod in (first, second_pod):
            cluster.end(pod)
            ended = json.loads(json.dumps(cluster.objects["pods"][pod]))
            ended["status"]["phase"] = "Succeeded"
            cluster.put("pods", ended)

    code, out, err = _while(cluster, go_on, lambda: torpor("logs", "ingest", "-f"))
    assert (code, err) == (0, "")
    assert sorted(texts((code, out, err))) == ["one", "same moment", "three", "two"]


def test_follow_shows_a_wait_that_ends_with_the_run(
    cluster: FakeCluster, torpor: Run, load: Callable[..., Object]
) -> None:
    load(0, state="Deferred")

    def go_on() -> None:
        _until(lambda: any("watch=true" in request for request in cluster.requests))
        _until(lambda: sum("/logs" in request for request in cluster.requests) >= 2)
        cluster.archive_log("load", 0, kind="wait", started=second(5), lines=[at(5, "the wait")])

    code, out, err = _while(cluster, go_on, lambda: torpor("logs", "ingest", "-f"))
    assert (code, out, err) == (0, "load[0] a1 s0 wait | the wait\n", "")


def test_follow_ends_if_the_run_is_deleted(cluster: FakeCluster, torpor: Run, run: Object) -> None:
    def go_on() -> None:
        _until(lambda: any("watch=true" in request for request in cluster.requests))
        cluster.delete("workflows", "ingest")

    code, out, _ = _while(cluster, go_on, lambda: torpor("logs", "ingest", "-f"), end=False)
    assert (code, out) == (0, "")


def test_follow_of_an_ended_run_prints_and_ends(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "load", state="Succeeded", completionTime=second(9))
    taskrun = cluster.taskrun("ingest", "load")
    cluster.write(cluster.pod(taskrun, started=second(2), ended=second(3)), at(2, "only"))
    assert torpor("logs", "ingest", "-f")[:2] == (0, "load a1 s0 | only\n")


def test_logs_of_a_submitted_run_are_followed_for_the_timeout(
    cluster: FakeCluster, load: Callable[..., Object], torpor: Run, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The run goes on; without the limit the command would not end."""
    cluster.write(cluster.pod(load(), started=second(2)), at(2, "live"))
    connection = connect(TargetOptions(kubeconfig=os.environ["KUBECONFIG"]))
    afterwards = FollowUp(logs=True, limit=1.0)
    assert (
        follow_up(connection, [cluster.objects["workflows"]["ingest"]], afterwards, follow_logs) == ExitCode.TIMED_OUT
    )
    sys.stdout.flush()
    assert capfdbinary.readouterr() == (b"load a1 s0 | live\n", b"timed out; ingest goes on\n")


def test_a_timeout_without_anything_to_wait_for_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--timeout needs"):
        FollowUp(limit=1.0).check(1)


def _until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 180
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def _while(
    cluster: FakeCluster, work: Callable[[], None], command: Callable[[], tuple[int, str, str]], *, end: bool = True
) -> tuple[int, str, str]:
    """Run a command while other work goes on. The run ends after the work, also if it fails."""

    def work_and_end() -> None:
        try:
            work()
        finally:
            if end:
                cluster.workflow("ingest", "load", state="Succeeded", completionTime=second(9))

    thread = threading.Thread(target=work_and_end)
    thread.start()
    output = command()
    thread.join()
    return output


def test_an_interrupt_while_logs_are_followed_says_that_the_run_goes_on(
    torpor: Run, load: Callable[..., Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    load(state="Running")

    def interrupted(_self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("torpor_cli.logs.follow.LogFollower.lines", interrupted)
    assert torpor("logs", "ingest", "-f") == (130, "", "interrupted; run ingest goes on\n")

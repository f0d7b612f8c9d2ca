"""What the demo claims of a wait follows from what was seen, and it claims no more."""

from torpor_crds.models import taskrun
from torpor_crds.models.taskrun import TaskRun
from torpor_demo import report
from torpor_demo.recording import PodSeen, RunRecording, RunSeen
from torpor_wire.state import State


def run(state: State, *, task: str = "measure", index: int = 3, segment: int = 0, **status: object) -> TaskRun:
    return taskrun.parse(
        {
            "metadata": {"name": f"w-{task}", "namespace": "n", "uid": task},
            "spec": {"workflow": {"name": "w", "uid": "u"}, "task": task, "mapIndex": index, "python": "m:f"},
            "status": {"state": state, "segment": segment, **status},
        }
    )


def film(*pods: tuple[float, str, bool]) -> RunRecording:
    """A TaskRun that waits from 2.0 to 10.0."""
    states = [(0.0, State.SCHEDULED, 0), (1.0, State.RUNNING, 0), (2.0, State.DEFERRED, 0), (10.0, State.SCHEDULED, 1)]
    return RunRecording(
        runs=[RunSeen(at=at, run=run(state, segment=segment)) for at, state, segment in states],
        pods=[PodSeen(at=at, taskrun_uid="measure", name=name, active=active) for at, name, active in pods],
    )


def test_a_pod_counts_until_its_end_is_reported() -> None:
    (wait,) = report.waits(film((0.5, "s0", True), (3.5, "s0", False), (10.1, "s1", True)))
    assert (wait.seconds, wait.with_pod, wait.had_pod) == (8.0, 1.5, True)


def test_a_pod_whose_end_is_not_reported_counts_for_the_whole_wait() -> None:
    (wait,) = report.waits(film((0.5, "s0", True)))
    assert wait.with_pod == wait.seconds


def test_what_never_had_a_pod_is_said_so() -> None:
    assert report.lines(film()) == ["measure[3] waited 8.0 s and never had a pod", "1 TaskRuns had 0 pods in all"]


def test_a_wait_that_has_not_ended_proves_nothing() -> None:
    unfinished = film()
    unfinished.runs.pop()
    assert report.waits(unfinished) == []

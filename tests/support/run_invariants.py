"""Invariants of a run that hold at every moment."""

from collections.abc import Iterable

from torpor_crds.models import taskrun
from torpor_crds.models.taskrun import TaskRun
from torpor_operator.model.pod import Pod, parse_pod, pod_name
from torpor_wire.state import State

from tests.support.builders import Body


def check(taskrun_bodies: Iterable[Body], pod_bodies: Iterable[Body], parallelism: int) -> None:
    """Assert that no TaskRun has two live pods, and that live pods do not exceed the parallelism.

    A pod that has reported and not exited yet belongs to a former segment, and does not count.
    """
    runs = {run.metadata.uid: run for run in map(taskrun.parse, taskrun_bodies)}
    live = [pod for pod in map(parse_pod, pod_bodies) if not pod.terminal]
    owners = [pod.owner_uid for pod in live]
    assert len(owners) == len(set(owners)), f"two live pods of one TaskRun: {sorted(pod.name for pod in live)}"
    occupied = [pod for pod in live if _is_current(pod, runs.get(pod.owner_uid))]
    assert len(occupied) <= parallelism, f"{len(occupied)} pods exceed the parallelism"


def _is_current(pod: Pod, run: TaskRun | None) -> bool:
    if run is None or run.status.state not in {State.SCHEDULED, State.RUNNING}:
        return False
    return pod.name == pod_name(run)

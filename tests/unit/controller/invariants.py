"""What must never be, whatever happens and whoever is slow."""

from collections.abc import Iterable

from torpor_api import taskrun as taskruns
from torpor_operator import pods
from torpor_wire.state import State

from tests.unit.controller.bodies import Body


def check(taskrun_bodies: Iterable[Body], pod_bodies: Iterable[Body], parallelism: int) -> None:
    """No TaskRun has two live pods, and no more TaskRuns hold a pod than the parallelism allows."""
    runs = {run.metadata.uid: run for run in map(taskruns.parse, taskrun_bodies)}
    live = [pod for pod in map(pods.parse, pod_bodies) if not pod.terminal]
    owners = [pod.owner_uid for pod in live]
    assert len(owners) == len(set(owners)), f"two live pods of one TaskRun: {sorted(pod.name for pod in live)}"
    holding = {State.SCHEDULED, State.RUNNING}
    occupied = [uid for uid in owners if uid in runs and runs[uid].status.state in holding]
    assert len(occupied) <= parallelism, f"{len(occupied)} pods are too many"

"""What the demo says of a run: what its waits cost, or why it did not succeed."""

import time
from dataclasses import dataclass

from torpor_crds.models.taskrun import TaskRun
from torpor_dev.console import DevError
from torpor_wire.state import State

from torpor_demo.kubectl import Kubectl
from torpor_demo.recording import PodSeen, RunRecording, label


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredWait:
    """One deferral, in seconds: its duration, and how much of it a pod of the TaskRun existed."""

    run: TaskRun
    began: float
    seconds: float
    with_pod: float
    had_pod: bool


def waits(film: RunRecording) -> list[MeasuredWait]:
    """Every deferral that ended."""
    measured = []
    for position, event in enumerate(film.runs):
        uid = event.run.metadata.uid
        after = next((each.at for each in film.runs[position + 1 :] if each.run.metadata.uid == uid), None)
        if event.run.status.state is State.DEFERRED and after is not None:
            spans = _spans(film.pods, uid)
            held = sum(max(0.0, min(end, after) - max(start, event.at)) for start, end in spans)
            had = any(start < event.at for start, _ in spans)
            measured.append(
                MeasuredWait(run=event.run, began=event.at, seconds=after - event.at, with_pod=held, had_pod=had)
            )
    return measured


def lines(film: RunRecording) -> list[str]:
    """The summary as lines of text."""
    wait_lines = [_line(wait) for wait in waits(film)]
    runs = {observed.run.metadata.uid for observed in film.runs}
    pods = {observed.name for observed in film.pods}
    return [*wait_lines, f"{len(runs)} TaskRuns had {len(pods)} pods in all"]


def _line(wait: MeasuredWait) -> str:
    who = f"{label(wait.run)} waited {wait.seconds:.1f} s"
    if not wait.had_pod:
        return f"{who} and never had a pod"
    return f"{who}; its pod had ended after {wait.with_pod:.1f} s, and {wait.seconds - wait.with_pod:.1f} s cost none"


def _spans(pods: list[PodSeen], uid: str) -> list[tuple[float, float]]:
    """The time span of each pod of the TaskRun."""
    started: dict[str, float] = {}
    ended: dict[str, float] = {}
    for pod in pods:
        if pod.taskrun_uid == uid:
            (started if pod.active else ended).setdefault(pod.name, pod.at)
    return [(start, ended.get(name, float("inf"))) for name, start in started.items()]


_SHOWN = 3
_TAIL = 20
_TRIES = 5


def explain(kubectl: Kubectl, film: RunRecording) -> str:
    """A paragraph for each cause."""
    failed = [run for run in _last(film) if run.status.state in {State.FAILED, State.CANCELLED}]
    return "\n".join([_verdict(film), *(_paragraph(kubectl, run) for run in failed[:_SHOWN])])


def _verdict(film: RunRecording) -> str:
    if film.workflow is None:
        return "the Workflow was never seen"
    succeeded = next((entry for entry in film.workflow.status.conditions if entry.type == "Succeeded"), None)
    if succeeded is None:
        return "no operator took up the Workflow: kubectl logs -n torpor-system deployment/torpor-operator"
    return f"the run did not succeed: {succeeded.reason}: {succeeded.message}"


def _paragraph(kubectl: Kubectl, run: TaskRun) -> str:
    status = run.status
    words = f"{label(run)} ({run.metadata.name}): {status.reason}: {status.message}"
    return f"{words}\n{_log(kubectl, run)}" if status.pod else words


def _log(kubectl: Kubectl, run: TaskRun) -> str:
    """The end of the pod's log. A short pod may report before its kubelet serves the log, so retry."""
    pod = run.status.pod.name if run.status.pod else ""
    text = ""
    for _ in range(_TRIES):
        try:
            text = kubectl.run("-n", run.metadata.namespace, "logs", pod, f"--tail={_TAIL}")
            break
        except DevError as error:
            text = str(error)
            time.sleep(1)
    return "\n".join(f"  | {line}" for line in text.splitlines())


def _last(film: RunRecording) -> list[TaskRun]:
    return list({observed.run.metadata.uid: observed.run for observed in film.runs}.values())

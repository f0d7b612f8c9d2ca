"""Explains why a run did not succeed: its condition, the failed TaskRuns, and the end of their logs."""

import time

from torpor_crds.models.taskrun import TaskRun
from torpor_dev.errors import DevError
from torpor_wire.state import State

from torpor_demo.kubectl import Kubectl
from torpor_demo.recording import Film, label

_SHOWN = 3
_TAIL = 20
_TRIES = 5


def explain(kubectl: Kubectl, film: Film) -> str:
    """A paragraph for each cause."""
    failed = [run for run in _last(film) if run.status.state in {State.FAILED, State.CANCELLED}]
    return "\n".join([_verdict(film), *(_paragraph(kubectl, run) for run in failed[:_SHOWN])])


def _verdict(film: Film) -> str:
    if film.workflow is None:
        return "the Workflow was never seen"
    said = next((entry for entry in film.workflow.status.conditions if entry.type == "Succeeded"), None)
    if said is None:
        return "no operator took up the Workflow: kubectl logs -n torpor-system deployment/torpor-operator"
    return f"the run did not succeed: {said.reason}: {said.message}"


def _paragraph(kubectl: Kubectl, run: TaskRun) -> str:
    status = run.status
    words = f"{label(run)} ({run.metadata.name}): {status.reason}: {status.message}"
    return f"{words}\n{_log(kubectl, run)}" if status.pod else words


def _log(kubectl: Kubectl, run: TaskRun) -> str:
    """The end of the pod's log. A short pod may report before its kubelet serves the log, so retry."""
    pod = run.status.pod.name if run.status.pod else ""
    said = ""
    for _ in range(_TRIES):
        try:
            said = kubectl.run("-n", run.metadata.namespace, "logs", pod, f"--tail={_TAIL}")
            break
        except DevError as error:
            said = str(error)
            time.sleep(1)
    return "\n".join(f"  | {line}" for line in said.splitlines())


def _last(film: Film) -> list[TaskRun]:
    return list({seen.run.metadata.uid: seen.run for seen in film.runs}.values())

"""Rules of a TaskRun that starts a run: create it, wait for its end, report its deletion (ADR 0073)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from torpor_crds.models.run_of import ChildRun, ParentRun, TemplateRef
from torpor_crds.models.taskrun import TaskRun, TriggerCall
from torpor_crds.models.workflow import Workflow
from torpor_wire import canonical, constants, names, retry, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.model.actions import ChangeChildRun, ConfirmRun, CreateChildRun
from torpor_operator.model.snapshot import Presence, Snapshot
from torpor_operator.taskrun import deferral, step
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView


def child_name(taskrun: TaskRun) -> str:
    """The name of the run that the present attempt starts."""
    return names.child_run(taskrun.metadata.name, taskrun.metadata.uid, taskrun.status.attempt)


def _exists(view: TaskRunView) -> bool:
    """Whether the cache shows the run of the present attempt."""
    name = child_name(view.taskrun)
    return any(child.metadata.name == name for child in view.children)


def begin(view: TaskRunView, run: ChildRun) -> Step:
    """Create the run; once it exists, defer until its end.

    The deferral comes second: a TaskRun that waits for a run that was never created would wait forever.
    """
    call = view.taskrun.spec.trigger
    if call is None:
        return step.fail(view, Reason.STATUS_INVALID, "invalid spec: run without trigger", policy=retry.Policy())
    if _exists(view):
        kwargs = canonical.plain({**trigger.parse(call.kwargs), "name": child_name(view.taskrun)})
        return deferral.begin(view, TriggerCall(class_name=call.class_name, kwargs=kwargs, timeout=call.timeout))
    if (problem := _too_many(view, run)) is not None:
        return step.fail(view, Reason.RUN_LIMIT_REACHED, problem, policy=retry.Policy())
    return Step(actions=(CreateChildRun(taskrun=view.taskrun, body=build(view.taskrun, run)),))


def _too_many(view: TaskRunView, run: ChildRun) -> str | None:
    if run.depth > constants.RUN_DEPTH_MAX:
        return (
            f"the run of template {run.template} would be contained in {run.depth} runs; the limit is "
            f"{constants.RUN_DEPTH_MAX}: a template that starts itself needs a `when` that ends it"
        )
    if view.runs_of_root >= constants.CHILD_RUNS_MAX:
        return (
            f"the outermost run has {view.runs_of_root:,} runs in it; the limit is {constants.CHILD_RUNS_MAX:,}: "
            "map over fewer items, or start runs by a Schedule"
        )
    return None


def build(taskrun: TaskRun, run: ChildRun) -> dict[str, Any]:
    """The Workflow of the run, as JSON. The TaskRun owns it."""
    metadata = taskrun.metadata
    owner = {"apiVersion": constants.API_VERSION, "kind": "TaskRun", "name": metadata.name, "uid": metadata.uid}
    parent = ParentRun(
        workflow=taskrun.spec.owner.name,
        task_run=metadata.name,
        uid=metadata.uid,
        depth=run.depth,
        root=run.root,
    )
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "name": child_name(taskrun),
            "namespace": metadata.namespace,
            "labels": {constants.LABEL_PARENT: names.label(taskrun.spec.owner.name)},
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "templateRef": TemplateRef(name=run.template, kind=run.kind).to_json(),
            "params": json.loads(run.params),
            "parent": parent.to_json(),
        },
    }


def is_same_run(stored: Mapping[str, Any], taskrun: TaskRun) -> bool:
    """Whether a stored Workflow is the run of this TaskRun, and not another one of its name."""
    return bool((stored["spec"].get("parent") or {}).get("uid") == taskrun.metadata.uid)


def check_exists(view: TaskRunView) -> Step:
    """Fail a TaskRun whose run was deleted while it waits: the trigger would wait for it forever."""
    if _exists(view):
        return NOTHING
    name = child_name(view.taskrun)
    need = ConfirmRun(view.taskrun.metadata.namespace, name)
    match view.known.get(need):
        case None:
            return Step(needs=(need,))
        case Presence.GONE:
            message = f"run {name} was deleted before its end was seen; clear the task to start another run"
            return step.fail(view, Reason.RUN_DELETED, message, policy=retry.Policy())
        case _:
            return NOTHING


def is_wanted(taskrun: TaskRun, child: Workflow) -> bool:
    """Whether the TaskRun waits for this run, or is about to."""
    status = taskrun.status
    if taskrun.metadata.deletion_timestamp is not None or status.cancel is not None:
        return False
    return status.state in {State.SCHEDULED, State.DEFERRED} and child.metadata.name == child_name(taskrun)


def propagate(snapshot: Snapshot) -> tuple[ChangeChildRun, ...]:
    """What the runs that have not ended get from the run that contains them: its end, and its suspension.

    Each pass decides it, independently of its other decisions. So a lost write is repeated, even after the end.
    """
    return tuple(_changes(snapshot)) if snapshot.children else ()


def _changes(snapshot: Snapshot) -> Iterator[ChangeChildRun]:
    for taskrun in snapshot.taskruns.values():
        for child in snapshot.children.get(taskrun.metadata.uid, ()):
            if child.status.completion_time is not None or child.metadata.deletion_timestamp is not None:
                continue
            if is_wanted(taskrun, child):
                yield from _suspension(snapshot.workflow, child)
            elif not (child.spec.cancel or child.spec.stop) and not _goes_on_by_itself(snapshot.workflow, child):
                yield ChangeChildRun(run=child, fields={_ending(snapshot.workflow): True})


def _goes_on_by_itself(parent: Workflow, child: Workflow) -> bool:
    """Whether a user cleared the run after its end: its task has ended, and does not wait for it any more."""
    ends = parent.spec.cancel or parent.spec.stop or parent.metadata.deletion_timestamp is not None
    return child.status.reopened_time is not None and not ends


def _ending(parent: Workflow) -> str:
    """A stopped run lets the hooks of its runs run, as its own."""
    stops = parent.spec.stop and not parent.spec.cancel and parent.metadata.deletion_timestamp is None
    return "stop" if stops else "cancel"


def _suspension(parent: Workflow, child: Workflow) -> Iterator[ChangeChildRun]:
    """A run that a user suspended by itself stays suspended when its parent goes on."""
    by_parent = constants.SUSPENDED_BY_PARENT in child.metadata.annotations
    if parent.spec.suspend and not child.spec.suspend:
        yield ChangeChildRun(run=child, fields={"suspend": True}, by_parent=True)
    elif not parent.spec.suspend and by_parent:
        yield ChangeChildRun(run=child, fields={"suspend": False}, by_parent=False)

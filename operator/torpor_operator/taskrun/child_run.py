"""Rules of a TaskRun that starts a run: create it, wait for its end, report its deletion (ADR 0073).

The run of an attempt has the uid and the attempt of its TaskRun in `spec.parent`. Its name says nothing: an author may
choose it, and a run that was cleared keeps the name that it got for an earlier TaskRun.
"""

import json
from collections.abc import Mapping
from typing import Any

from torpor_crds.models.run_of import ChildRun, ParentRun, TemplateRef
from torpor_crds.models.taskrun import TaskRun, TriggerCall
from torpor_crds.models.workflow import Workflow
from torpor_wire import canonical, constants, names, retry, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.model.actions import ConfirmRun, PatchTaskRun
from torpor_operator.model.child_run_actions import CreateChildRun, MoveChildRun
from torpor_operator.model.snapshot import Presence
from torpor_operator.taskrun import deferral, step
from torpor_operator.taskrun.builder import reference
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView

_DELETION_SECONDS = 5.0
"""How often a task looks whether the Workflow with the name of its run is gone."""


def child_name(taskrun: TaskRun) -> str:
    """The name of the run that the present attempt starts."""
    run, attempt = taskrun.spec.run, taskrun.status.attempt
    if run is not None and run.name is not None:
        return names.chosen_run(run.name, attempt)
    return names.child_run(taskrun.metadata.name, taskrun.metadata.uid, attempt)


def awaited_name(taskrun: TaskRun) -> str:
    """The name of the run that the TaskRun waits for: that of its trigger."""
    waiting = taskrun.status.trigger
    try:
        kwargs = {} if waiting is None else trigger.parse(waiting.kwargs)
    except trigger.TriggerError:
        kwargs = {}
    return str(kwargs.get("name") or child_name(taskrun))


def is_current(taskrun: TaskRun, child: Workflow) -> bool:
    """Whether it is the run of the last attempt."""
    parent = child.spec.parent
    return parent is not None and (parent.uid, parent.attempt) == (taskrun.metadata.uid, taskrun.status.attempt)


def begin(view: TaskRunView, run: ChildRun) -> Step:
    """Create the run; once it exists, defer until its end.

    The deferral comes second: a TaskRun that waits for a run that was never created would wait forever.
    """
    child = next((child for child in view.children if is_current(view.taskrun, child)), None)
    if child is not None:
        return _wait_for(view, child) if run.waits else _leave(view, child)
    if view.released:
        return Step(actions=(adopt(view.taskrun, run, view.released[0]),))
    if (problem := _too_many(view, run)) is not None:
        return step.fail(view, Reason.RUN_LIMIT_REACHED, problem, policy=retry.Policy())
    if view.namesake is not None and run.name is not None:
        return _name_taken(view, view.namesake)
    return Step(actions=(CreateChildRun(taskrun=view.taskrun, body=build(view.taskrun, run)),))


def _wait_for(view: TaskRunView, child: Workflow) -> Step:
    call = view.taskrun.spec.trigger
    if call is None:
        return step.fail(view, Reason.STATUS_INVALID, "invalid spec: run without trigger", policy=retry.Policy())
    kwargs = canonical.plain({**trigger.parse(call.kwargs), "name": child.metadata.name})
    return deferral.begin(view, TriggerCall(class_name=call.class_name, kwargs=kwargs, timeout=call.timeout))


def _leave(view: TaskRunView, child: Workflow) -> Step:
    """Succeed, since the run exists: the task does not wait for it."""
    result = canonical.plain({"name": child.metadata.name, "uid": child.metadata.uid})
    patch = transitions.succeed(view.taskrun.pin(), result, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _name_taken(view: TaskRunView, namesake: Workflow) -> Step:
    """Wait for a run that is being deleted, such as that of a TaskRun that was cleared; otherwise fail."""
    if namesake.metadata.deletion_timestamp is not None:
        return Step(again_at=view.now + _DELETION_SECONDS)
    message = (
        f"a Workflow named {namesake.metadata.name} exists that is not the run of this task: delete it, or choose "
        "another run.name"
    )
    return step.fail(view, Reason.RUN_NAME_TAKEN, message, policy=retry.Policy())


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
    """The Workflow of the run, as JSON. The TaskRun owns it, unless it outlives the TaskRun."""
    metadata = taskrun.metadata
    parent = ParentRun(
        workflow=taskrun.spec.owner.name,
        task_run=metadata.name,
        uid=metadata.uid,
        attempt=taskrun.status.attempt,
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
            "ownerReferences": _owners(run, "TaskRun", metadata.name, metadata.uid),
        },
        "spec": {
            "templateRef": TemplateRef(name=run.template, kind=run.kind).to_json(),
            "params": json.loads(run.params),
            "parent": parent.to_json(),
        },
    }


def _owners(run: ChildRun, kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [reference(kind, name, uid)] if run.is_owned else []


def adopt(taskrun: TaskRun, run: ChildRun, child: Workflow) -> MoveChildRun:
    """Let the TaskRun that was created again wait for the run of the former one, which was cleared and goes on."""
    metadata, status = taskrun.metadata, child.status
    return MoveChildRun(
        run=child,
        parent={"uid": metadata.uid, "attempt": taskrun.status.attempt, "clears": status.clears},
        owners=_owners(run, "TaskRun", metadata.name, metadata.uid),
    )


def release(workflow: Workflow, run: ChildRun, child: Workflow) -> MoveChildRun:
    """Let the outer run own the run until a TaskRun waits for it again: it would be deleted with its TaskRun."""
    metadata = workflow.metadata
    return MoveChildRun(
        run=child, parent={"uid": metadata.uid}, owners=_owners(run, "Workflow", metadata.name, metadata.uid)
    )


def is_same_run(stored: Mapping[str, Any], taskrun: TaskRun) -> bool:
    """Whether a stored Workflow is the run of this attempt, and not another one of its name."""
    parent = stored["spec"].get("parent") or {}
    return (parent.get("uid"), parent.get("attempt")) == (taskrun.metadata.uid, taskrun.status.attempt)


def check_exists(view: TaskRunView) -> Step:
    """Fail a TaskRun whose run was deleted while it waits: the trigger would wait for it forever."""
    if any(is_current(view.taskrun, child) for child in view.children):
        return NOTHING
    metadata, name = view.taskrun.metadata, awaited_name(view.taskrun)
    need = ConfirmRun(namespace=metadata.namespace, name=name, parent=metadata.uid)
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
    return status.state in {State.SCHEDULED, State.DEFERRED} and is_current(taskrun, child)

"""The object of an instance of an object task: its manifest, with its expressions evaluated (ADR 0075)."""

from collections.abc import Mapping

from torpor_crds.models.bodies.object_task import ObjectCall, ObjectTask
from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TriggerCall
from torpor_expressions.errors import ExpressionError
from torpor_wire import canonical, constants
from torpor_wire.enums import DeleteOnEnd
from torpor_wire.objects import object_manifest
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import manifest_source
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs

_LITERAL = ("apiVersion", "kind")


def resolve_object(task: Task, scope: Scope) -> ObjectCall | TaskOutcome | Pending | None:
    """The object of one instance, whose `mapping` is in the scope; None for a task without an object."""
    body = task.object_
    if body is None:
        return None
    if (written := _written_problem(body)) is not None:
        return _invalid(task, written)
    manifest = resolve.resolve_value(body.manifest, scope)
    if isinstance(manifest, Pending):
        return manifest
    if isinstance(manifest, ExpressionError):
        return failed_without_runs(task.name, manifest.reason, f"object.manifest: {manifest.message}")
    completed = manifest_source.completed(body, manifest.json, scope)
    if isinstance(completed, Pending):
        return completed
    if isinstance(completed, ExpressionError):
        return failed_without_runs(task.name, completed.reason, completed.message)
    if (problem := object_manifest.problem(completed, body.action)) is not None:
        return _invalid(task, problem)
    text = canonical.plain(completed)
    if (size := len(text.encode())) > constants.MANIFEST_MAX:
        message = f"object.manifest: it has {size:,} bytes; the limit is {constants.MANIFEST_MAX:,}"
        message += ": let the object refer to a ConfigMap with the data"
        return failed_without_runs(task.name, Reason.ARGUMENTS_TOO_LARGE, message)
    return _call(body, completed if isinstance(completed, dict) else {}, text)


def _call(body: ObjectTask, manifest: Mapping[str, object], text: str) -> ObjectCall:
    metadata = manifest.get("metadata")
    return ObjectCall(
        action=body.action,
        api_version=str(manifest["apiVersion"]),
        kind=str(manifest["kind"]),
        name=metadata.get("name") if isinstance(metadata, dict) else None,
        manifest=text,
        until=body.until,
        fail_when=body.fail_when,
        result=body.result,
        delete_on_end=body.delete_on_end or DeleteOnEnd.ON_CANCEL,
    )


def trigger_of(task: Task, call: ObjectCall) -> TriggerCall:
    """The trigger that acts for the task. Its arguments say what it is for; the rest is in the TaskRun."""
    name = {} if call.name is None else {"name": call.name}
    kwargs = {"action": call.action.value, "api_version": call.api_version, "kind": call.kind, **name}
    timeout = None if task.object_ is None else task.object_.timeout
    return TriggerCall(class_name=constants.OBJECT_TASK, kwargs=canonical.plain(kwargs), timeout=timeout)


def _written_problem(body: ObjectTask) -> str | None:
    """Why data would choose what the task acts on: the author writes apiVersion and kind."""
    if not isinstance(body.manifest, dict):
        return "write the manifest as an object: only its fields may be expressions"
    dynamic = next((field for field in _LITERAL if resolve.embedded(body.manifest.get(field))), None)
    return None if dynamic is None else f"{dynamic} is an expression; write it out, since data may not choose it"


def _invalid(task: Task, problem: str) -> TaskOutcome:
    return failed_without_runs(task.name, Reason.TRIGGER_INVALID, f"object.manifest: {problem}")

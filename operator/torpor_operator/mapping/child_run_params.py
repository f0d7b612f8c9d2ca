"""The run that an instance starts: the params of its template, with their expressions evaluated."""

from collections.abc import Collection, Sequence
from functools import partial

from torpor_crds.models.run_of import ChildRun, RunCall
from torpor_crds.models.task import Task
from torpor_crds.models.workflow import Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import canonical, constants, names
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import trigger_kwargs
from torpor_operator.mapping.expand import ExpandedList
from torpor_operator.model.map_items import MapItem
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs


def resolve_child_run(
    task: Task, items: Sequence[tuple[ExpandedList, MapItem]], scope: Scope
) -> ChildRun | TaskOutcome | Pending | None:
    """The run of one instance, whose `mapping` is in the scope; None for a task without a run.

    The items of a mapped task are further params by name, unless the params use `mapping`.
    """
    call = task.run
    if call is None:
        return None
    params = resolve.resolve_value(call.params, scope)
    if isinstance(params, Pending):
        return params
    if isinstance(params, ExpressionError):
        return failed_without_runs(task.name, params.reason, f"run.params: {params.message}")
    added: dict[str, JSON] | str = {}
    if not resolve.differs_per_instance(call.params):
        added = trigger_kwargs.items_by_name(items, partial(_problem, call.params), stored="the params of a run")
    if isinstance(added, str):
        return failed_without_runs(task.name, Reason.EXPAND_INVALID, added)
    text = canonical.plain((params.json if isinstance(params.json, dict) else {}) | added)
    if (size := len(text.encode())) > constants.RESULT_MAX:
        message = f"run.params: the params have {size:,} bytes; the limit is {constants.RESULT_MAX:,}"
        message += ": store the data elsewhere, and pass its location"
        return failed_without_runs(task.name, Reason.ARGUMENTS_TOO_LARGE, message)
    name = _name(task, call, scope)
    if isinstance(name, TaskOutcome | Pending):
        return name
    return _child_run(scope.workflow, call, params=text, name=name)


def _name(task: Task, call: RunCall, scope: Scope) -> str | TaskOutcome | Pending | None:
    """The name that the author chose for the run of the first attempt."""
    if call.name is None:
        return None
    value = resolve.resolve_value(call.name, scope)
    if isinstance(value, Pending):
        return value
    if isinstance(value, ExpressionError):
        return failed_without_runs(task.name, value.reason, f"run.name: {value.message}")
    name = value.json
    if isinstance(name, str) and len(name) <= constants.RUN_NAME_MAX and names.is_object_name(name):
        return name
    message = (
        f"run.name: the value {canonical.plain(name):.100} is not the name of a Workflow: use lower-case letters, "
        f"digits, - and ., at most {constants.RUN_NAME_MAX} characters"
    )
    return failed_without_runs(task.name, Reason.EXPRESSION_FAILED, message)


def _child_run(workflow: Workflow, call: RunCall, *, params: str, name: str | None) -> ChildRun:
    parent = workflow.spec.parent
    return ChildRun(
        template=call.template_ref.name,
        kind=call.template_ref.kind,
        params=params,
        depth=1 if parent is None else parent.depth + 1,
        root=workflow.metadata.uid if parent is None else parent.root,
        name=name,
        wait=call.wait,
        deletion_policy=call.deletion_policy,
    )


def _problem(written: Collection[str], name: str) -> str | None:
    """Why an item cannot be a param of the run whose author wrote the names `written`."""
    return f"{name} is also in run.params; remove one" if name in written else None

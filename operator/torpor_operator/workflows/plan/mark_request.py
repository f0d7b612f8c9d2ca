"""The mark annotation: which instances it selects, and the plan that accepts or refuses it (ADR 0052). Pure.

An accepted mark is a clear of the instances whose new TaskRuns end in the chosen state. What depends on an instance
that had ended runs again, so that nothing is based on a replaced outcome.
"""

from collections.abc import Iterable

from pydantic import ValidationError
from torpor_crds.models.history import ClearedTask, Clearing
from torpor_crds.models.task import Task
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants, instance_paths
from torpor_wire.enums import MarkState, WorkflowEvent
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TASK_ENDED, TERMINAL
from torpor_wire.text import printable_line

from torpor_operator.graph.dag import Graph
from torpor_operator.model.actions import RemoveAnnotation, ResumeRun
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.state import marks
from torpor_operator.state.marks import MarkRequest
from torpor_operator.workflows.plan import clear_request, events, status
from torpor_operator.workflows.plan.clear_request import ClearRefusal, Selection
from torpor_operator.workflows.plan.run_context import RunContext

_FORM = "write `succeeded|skipped|failed INSTANCES because TEXT`, with at most 512 bytes of text"


def accept_or_refuse(run: RunContext) -> WorkflowPlan | None:
    """Accept or refuse the annotation; None without one, and while an earlier request is in progress."""
    workflow = run.workflow
    text = marks.requested(workflow)
    if workflow.metadata.deletion_timestamp is not None or text is None:
        return None
    if workflow.status.clearing is not None:
        return WorkflowPlan(actions=_remove(workflow)) if workflow.status.clearing.asked == text else None
    if run.graph_problem is not None:
        return _refuse(workflow, run.graph_problem.message)
    request = _read(workflow, text)
    selected = request if isinstance(request, ClearRefusal) else _select(run.snapshot, run.graph, request)
    if isinstance(request, ClearRefusal) or isinstance(selected, ClearRefusal):
        return _refuse(workflow, selected.message if isinstance(selected, ClearRefusal) else "")
    if workflow.spec.cancel or workflow.spec.stop:
        return WorkflowPlan(actions=(ResumeRun(),))  # the annotation stays: the next plan accepts it
    return _accept(run, text, request, selected)


def _accept(run: RunContext, text: str, request: MarkRequest, selected: tuple[ClearedTask, ...]) -> WorkflowPlan:
    named = ", ".join(f"{task}/{instance_paths.written(path)}" if path else task for task, path in request.entries)
    message = printable_line(f"{named} as {request.state.lower()} because {request.because}")
    stored = status.reopened(
        run.workflow,
        Clearing(asked=text, tasks=selected),
        clear_request.reopened_tasks(run, selected),
        run.snapshot.now,
        message=message,
        event=WorkflowEvent.MARKED,
    )
    return WorkflowPlan(status=stored, events=(events.cleared(run.workflow, Reason.MARKED, f"marked {message}"),))


def _refuse(workflow: Workflow, message: str) -> WorkflowPlan:
    return WorkflowPlan(actions=_remove(workflow), events=(events.cleared(workflow, Reason.MARK_REFUSED, message),))


def _remove(workflow: Workflow) -> tuple[RemoveAnnotation, ...]:
    """Remove the annotations of the request, and the one with the user who set it."""
    annotations = workflow.metadata.annotations
    names = [name for name in (constants.MARK_RESULT, constants.MARK) if name in annotations]
    if annotations.get(constants.CHANGED_BY, "").startswith("mark "):
        names.append(constants.CHANGED_BY)
    return tuple(RemoveAnnotation(name=name, value=annotations[name]) for name in names)


def _read(workflow: Workflow, text: str) -> MarkRequest | ClearRefusal:
    if (workflow.spec.cancel or workflow.spec.stop) and workflow.status.completion_time is None:
        return ClearRefusal("the run is being cancelled: mark after it has ended")
    if len(text) > constants.CLEAR_MAX:
        return ClearRefusal(f"the mark has {len(text)} characters with its result; the limit is {constants.CLEAR_MAX}")
    request = marks.parse(text)
    if request is None:
        return ClearRefusal(f"invalid mark: {_FORM}; the result, if any, must be JSON")
    if request.result is not None and request.state is not MarkState.SUCCEEDED:
        return ClearRefusal(f"an instance that is marked as {request.state.lower()} has no result")
    return request


def _select(snapshot: Snapshot, graph: Graph, request: MarkRequest) -> tuple[ClearedTask, ...] | ClearRefusal:
    """The instances that the request names, and what depends on those that have ended."""
    tasks = {task.name: task for task in graph.order}
    named: dict[str, Selection] = {}
    for name, path in request.entries:
        if (message := _problem(snapshot, graph, tasks.get(name), name, path)) is not None:
            return ClearRefusal(message)
        named[name] = frozenset({*(named.get(name) or ()), path}) if path else None
    try:
        if any(_has_ended(snapshot, name, path) for name, path in request.entries):
            return tuple(clear_request.with_dependents(graph, named))
        return tuple(clear_request.cleared_task(task, named[task.name]) for task in _in_order(graph, named))
    except ValidationError:
        return ClearRefusal("too many instances: mark fewer at once")


def _in_order(graph: Graph, named: Iterable[str]) -> list[Task]:
    chosen = frozenset(named)
    return [task for task in graph.order if task.name in chosen]


def _problem(snapshot: Snapshot, graph: Graph, task: Task | None, name: str, path: Path) -> str | None:
    """Why this instance cannot be marked; None if it can."""
    if task is None:
        return f"unknown task {name}; tasks: {', '.join(sorted(declared.name for declared in graph.order)[:20])}"
    if task.hook is not None:
        return f"task {name} is a hook, which cannot be marked"
    depth = len(graph.chains[name])
    if len(path) != depth + task.mapped:
        several = task.mapped or depth
        example = ".".join(["0"] * (depth + task.mapped))
        return (
            f"task {name} has several instances: name them, such as {name}/{example}"
            if several
            else (f"task {name} is not mapped: mark {name} without an index")
        )
    created = clear_request.created_paths(snapshot, task, depth)
    if path and path not in created:
        known = f"it has {instance_paths.text(created)[:200]}" if created else "it has none yet"
        return f"no instance {name}/{instance_paths.written(path)}: {known}"
    return None


def _has_ended(snapshot: Snapshot, task: str, path: Path) -> bool:
    """Whether an instance has ended. Without a TaskRun the state of its task counts: it was skipped, or blocked."""
    runs = (run for by_index in snapshot.by_task.get(task, {}).values() for run in by_index.values())
    run = next((run for run in runs if run.spec.path == path), None)
    if run is not None:
        return run.status.state in TERMINAL
    entry = snapshot.task_statuses.get(task)
    return bool(path) or (entry is not None and entry.state in TASK_ENDED)

"""What a notification says: the evaluated templates of its entry, or a title and text of Torpor.

A template that cannot be evaluated does not lose the notification: it has Torpor's text, and what is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_expressions import errors, references, template
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import canonical
from torpor_wire.enums import NotifyEvent
from torpor_wire.state import CONDITION
from torpor_wire.text import printable, printable_line

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import PARAMS, RUN, Pending, Scope
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer
from torpor_operator.notifications.due import DueNotification
from torpor_operator.state import conditions

NOTIFICATION = "notification"
ROOTS = frozenset({PARAMS, RUN, NOTIFICATION})
TITLE_MAX = 300
TEXT_MAX = 2_000
_ENDS = {NotifyEvent.FAILURE: "failed", NotifyEvent.SUCCESS: "succeeded", NotifyEvent.LATE: "is late"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageText:
    """The text of a notification."""

    title: str
    text: str


def render(
    workflow: Workflow, status: WorkflowStatus, due: DueNotification, known: Mapping[Need, Answer]
) -> MessageText | Pending:
    """The message, or what must be evaluated first."""
    scope = _scope(workflow, status, due, known)
    parts = {
        name: _evaluated(written, scope) for name, written in (("title", due.entry.title), ("text", due.entry.text))
    }
    needs = [need for part in parts.values() if isinstance(part, Pending) for need in part.needs]
    if needs:
        return Pending(tuple(needs))
    problems = [f"{name}: {part.message}" for name, part in parts.items() if isinstance(part, ExpressionError)]
    title = parts["title"] if isinstance(parts["title"], str) else _title(workflow, due)
    text = parts["text"] if isinstance(parts["text"], str) else _text(status, due)
    written = "\n".join(filter(None, [text, *(f"The template of {problem}" for problem in problems)]))
    return MessageText(
        title=printable_line(" ".join(title.split()))[:TITLE_MAX] or _title(workflow, due),
        text=printable(written)[:TEXT_MAX],
    )


def problem(written: str) -> ExpressionError | None:
    """What is wrong with a template, before it is evaluated; None if nothing is."""
    expressions = template.expressions(written)
    if isinstance(expressions, ExpressionError):
        return expressions
    for expression in expressions:
        found = references.find(expression, roots=ROOTS)
        if isinstance(found, ExpressionError):
            return found
        if found.tasks:
            return errors.invalid("a notification sees params, run and notification, and no results of tasks")
    return None


def _evaluated(written: str | None, scope: Scope) -> str | ExpressionError | Pending | None:
    if written is None:
        return None
    if (wrong := problem(written)) is not None:
        return wrong
    value = resolve.resolve_value(written, scope)
    if isinstance(value, ExpressionError | Pending):
        return value
    return value.json if isinstance(value.json, str) else canonical.plain(value.json)


def _scope(workflow: Workflow, status: WorkflowStatus, due: DueNotification, known: Mapping[Need, Answer]) -> Scope:
    stored = conditions.find(status.conditions, CONDITION)
    outcome: dict[str, JSON] = {
        "state": status.state or "",
        "reason": str(stored.reason) if stored else "",
        "message": stored.message if stored else "",
    }
    seen: dict[str, JSON] = {"event": str(due.event), "task": due.about.spec.task if due.about is not None else None}
    return Scope(workflow=workflow, outcomes={}, known=known, extra_roots={RUN: outcome, NOTIFICATION: seen})


def _title(workflow: Workflow, due: DueNotification) -> str:
    run = f"{workflow.metadata.namespace}/{workflow.metadata.name}"
    if due.about is not None:
        return f"{run}: task {due.about.spec.task} waits for an approval"
    return f"{run} {_ENDS[due.event]}"


def _text(status: WorkflowStatus, due: DueNotification) -> str:
    if due.about is not None:
        waiting = due.about.status.trigger
        return f"{waiting.waits_for if waiting else ''}\nkubectl: TaskRun {due.about.metadata.name}".strip()
    stored = conditions.find(status.conditions, CONDITION)
    reason = "" if stored is None else f"{stored.reason}: {stored.message}" if stored.message else str(stored.reason)
    if due.event is NotifyEvent.LATE:
        return f"It has not ended {due.entry.after} after its time. State: {status.state or 'not started'}"
    return reason

"""The tasks that wait for a person, and whether the caller may answer. Pure.

The policy of the API server decides about an answer; what is shown here follows its rules.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from torpor_client.changes import approvals
from torpor_views import json_fields
from torpor_views.instance import InstanceView, TriggerView
from torpor_views.json_fields import Fields
from torpor_views.waiting.wait_progress import WaitProgress
from torpor_wire.approvers import NO_FORM, QUESTION_MAX, SUBJECT_MAX, FormField
from torpor_wire.trigger import APPROVAL

from torpor_ui.presentation import instances

APPROVALS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Who looks at the list. `refusals`: why the caller may not change TaskRuns, by namespace."""

    user: str
    groups: Collection[str]
    refusals: dict[str, str]


def asking(taskruns: Iterable[Fields]) -> list[InstanceView]:
    """Return the instances that wait for an answer."""
    return [InstanceView.parse(item) for item in taskruns if approvals.asks(item) and item.get("spec")]


def rows(views: Iterable[InstanceView], answerer: Answerer) -> list[dict[str, Any]]:
    """Return what waits, the oldest first."""
    ordered = sorted(views, key=lambda view: (view.deferred_at or 0.0, view.name))
    return [_row(view, answerer) for view in ordered[:APPROVALS_MAX]]


def _row(view: InstanceView, answerer: Answerer) -> dict[str, Any]:
    trigger = view.trigger or TriggerView(class_name="approval")
    reason = answerer.refusals.get(view.namespace, "") or _not_approver(view.namespace, trigger, answerer)
    return {
        "key": instances.key_of(view),
        "run": f"live/{view.namespace}/{view.workflow}",
        "runName": view.workflow,
        "namespace": view.namespace,
        "task": view.task,
        "label": view.display_name or view.ref,
        **_words(trigger),
        "form": form_json(trigger),
        "lastAnswer": _last_answer(view, trigger),
        "since": view.deferred_at,
        "deadline": view.deadline,
        "approvers": [*trigger.users, *(f"group {group}" for group in trigger.groups)],
        "mayAnswer": not reason,
        "reason": reason,
    }


def form_json(trigger: TriggerView) -> dict[str, Any] | None:
    """Return the form of an approval for the page; None if it has none."""
    form = approvals.form_of(trigger.kwargs) if trigger.class_name == APPROVAL else NO_FORM
    if form == NO_FORM:
        return None
    fields = [_field(field) for field in form.fields]
    return {"fields": fields, "options": list(form.options), "multiple": form.multiple}


def _field(field: FormField) -> dict[str, Any]:
    given = {"min": field.least, "max": field.most, "default": field.default}
    return {
        "name": field.name,
        "type": field.type,
        "description": field.description,
        "required": field.required and field.default is None,
        "enum": list(field.enum),
        "pattern": field.pattern or None,
    } | {name: value for name, value in given.items() if value is not None}


def _words(trigger: TriggerView) -> dict[str, str]:
    """The subject and the question of the author; what the triggerer says of the wait is a command for a terminal."""
    kwargs = json_fields.fields(json_fields.decoded(trigger.kwargs))
    subject, question = (json_fields.text(kwargs.get(name)) for name in ("subject", "question"))
    return {
        "subject": json_fields.one_line(subject, SUBJECT_MAX),
        "question": json_fields.one_line(
            question or ("" if subject else trigger.waits_for or "Approve?"), QUESTION_MAX
        ),
    }


def _last_answer(view: InstanceView, trigger: TriggerView) -> str:
    """Why the last answer was not taken; empty if there is none."""
    look = WaitProgress.parse(view.message, trigger.waits_for).look.partition("; answer")[0]
    return look if look.startswith("the answer of ") else ""


def _not_approver(namespace: str, trigger: TriggerView, answerer: Answerer) -> str:
    """Why the policy would reject an answer of the caller; empty if it would not."""
    if not trigger.users and not trigger.groups:
        return ""
    if answerer.user.startswith(f"system:serviceaccount:{namespace}:"):
        return f"this approval names its approvers, so no ServiceAccount of namespace {namespace} may answer it"
    if answerer.user in trigger.users or set(answerer.groups) & set(trigger.groups):
        return ""
    named = [*trigger.users, *(f"members of {group}" for group in trigger.groups)]
    return json_fields.one_line(f"only {', '.join(named)} may answer; you are {answerer.user}", 500)

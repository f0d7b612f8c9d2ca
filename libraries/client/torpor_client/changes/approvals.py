"""The answer of a person to a task that waits for it. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torpor_wire import canonical, constants
from torpor_wire.approvers import ANSWER_MAX, NO_FORM, OPTIONS, AnswerError, Form, parse_form

from torpor_client.errors import UsageError

NOTE_MAX = 1024
VERBS: Mapping[str, str] = {"approve": "approved", "reject": "rejected"}
"""The word of the annotation, by the verb."""


class AnswerRefusedError(UsageError):
    """An answer that does not fit the form. `field` is the field that it is about, or `options`; it may be empty.

    `problem` is the message without the options of the command.
    """

    def __init__(self, problem: str, field: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.problem = problem
        self.field = field


def check_note(note: str | None) -> None:
    """Raise UsageError for a note that is too long."""
    if note is not None and len(note) > NOTE_MAX:
        raise UsageError(f"--note has {len(note)} characters; the limit is {NOTE_MAX}")


def asks(taskrun: Mapping[str, Any]) -> bool:
    """Whether a TaskRun waits for an answer."""
    status = taskrun.get("status") or {}
    trigger = status.get("trigger") or {}
    return status.get("state") == "Deferred" and (trigger.get("class") == "approval" or bool(trigger.get("approvers")))


def form(taskrun: Mapping[str, Any]) -> Form:
    """Return the form that a TaskRun waits for; an empty one if it has none, or one of a newer version."""
    trigger = (taskrun.get("status") or {}).get("trigger") or {}
    return form_of(trigger.get("kwargs"))


def form_of(text: str | None) -> Form:
    """Return the form of kwargs as JSON text; an empty one if they have none, or one of a newer version."""
    try:
        kwargs = json.loads(text or "{}")
        return parse_form(kwargs.get("fields"), kwargs.get("options"), kwargs.get("multiple", False))
    except (ValueError, AttributeError, RecursionError):
        return NO_FORM


def answers(taskrun: Mapping[str, Any], pairs: Iterable[str], options: Sequence[str]) -> str | None:
    """Return the answer to the form of a TaskRun as JSON text, None if it has none. Raises UsageError.

    A pair is `NAME=VALUE`. The value of a field of type string is the text, of any other type JSON.
    """
    asked = form(taskrun)
    kinds = {field.name: field.type for field in asked.fields}
    given: dict[str, Any] = {OPTIONS: list(options)} if options else {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"--field {pair!r} has no value; write --field NAME=VALUE")
        given[name] = _value(name, text, kinds.get(name, "string"))
    return checked(asked, given)


def checked(asked: Form, given: Mapping[str, Any]) -> str | None:
    """Return complete answers as JSON text, None for an empty form. Raises AnswerRefusedError."""
    try:
        complete = asked.answers(dict(given))
    except AnswerError as error:
        raise AnswerRefusedError(str(error), error.field, _shown(asked)) from error
    if asked == NO_FORM:
        return None
    text = canonical.plain(complete.fields | ({OPTIONS: list(complete.options)} if asked.options else {}))
    if len(text) > ANSWER_MAX:
        raise UsageError(f"the answer has {len(text)} characters; the limit is {ANSWER_MAX}")
    return text


def _value(name: str, text: str, kind: str) -> Any:
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"--field {name}={text}: the value must be of type {kind}, as JSON") from None


def _shown(asked: Form) -> str:
    """Return which fields and options there are, with the words of their author."""
    fields = [
        f"--field {field.name}={field.type.upper()}" + (f" ({field.description})" if field.description else "")
        for field in asked.fields
    ]
    return "answer with " + " ".join(fields + ([f"--option {'|'.join(asked.options)}"] if asked.options else []))


def annotations(
    taskrun: Mapping[str, Any], word: str, user: str, note: str | None, fields: str | None = None
) -> dict[str, str]:
    """Return the annotations of an answer, which is for the present attempt and segment only.

    `fields` is JSON text. It replaces that of an earlier answer.
    """
    earlier = (taskrun.get("metadata") or {}).get("annotations") or {}
    if fields is None and constants.APPROVAL_FIELDS in earlier:
        fields = "{}"
    written = {} if fields is None else {constants.APPROVAL_FIELDS: fields}
    status = taskrun.get("status") or {}
    return (
        written
        | {
            constants.APPROVAL: word,
            constants.APPROVAL_BY: user,
            constants.APPROVAL_FOR: f"a{status.get('attempt', 1)}-s{status.get('segment', 0)}",
        }
        | ({constants.APPROVAL_NOTE: note} if note is not None else {})
    )


def question(taskrun: Mapping[str, Any]) -> str:
    """Return what a TaskRun waits for."""
    trigger = (taskrun.get("status") or {}).get("trigger") or {}
    return str(trigger.get("waitsFor") or taskrun["spec"].get("task") or "")

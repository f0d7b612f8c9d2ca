"""Waits for a person to approve or reject, and to fill in a form, with `kubectl annotate` on the TaskRun.

The admission policy `torpor-approval` ensures that `torpor.dev/approval-by` is the name of the user who sets the
annotation. An answer applies to one deferral: the first of the first attempt, or the one that it names. So an answer to
an earlier deferral never applies to a later one, regardless of clocks and other writes.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from torpor_wire import constants, times
from torpor_wire.approvers import (
    ANSWER_MAX,
    OPTIONS,
    PATTERN_MATCHES,
    QUESTION_MAX,
    SUBJECT_MAX,
    Form,
    FormAnswers,
    parse_approvers,
    parse_form,
)

from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import NotYetError, TaskRunRef
from torpor.triggers.support import arguments

WORDS = {"approved": True, "rejected": False}
_BY_MAX = 256
_NOTE_MAX = 1024
_NO_ANSWERS = FormAnswers({}, ())


class Approval(BaseTrigger):
    """Fires when a person has approved or rejected.

    The event is `{approved, by, note, at}`: `approved` is a boolean, `note` may be null, and `at` is the RFC 3339 time
    at which the API server stored the answer. With fields or options it has `fields` and `options`, too, which are
    empty after a rejection. An answer that does not fit is not taken, and the wait goes on.

    Args:
        question: What people decide, up to 2,000 characters. Without a subject, they see it in the list of TaskRuns.
        approvers: Who may answer: `{"users": [...], "groups": [...]}`. The admission policy rejects others. By default
            anyone who may patch the TaskRun.
        fields: Values to fill in: `{name, type, description, required, default, enum, min, max, pattern}` each.
        options: Texts of which one is chosen, or several with `multiple`.
        multiple: Whether several options may be chosen.
        default: The answer at the timeout, `{approved, fields, options}`, instead of a failure.
        subject: One line of up to 253 characters that people see in lists and in notifications.
    """

    def __init__(  # noqa: PLR0913 - the parts of a question, each with a default
        self,
        question: str | None = None,
        approvers: Mapping[str, Sequence[str]] | None = None,
        *,
        fields: Sequence[Mapping[str, Any]] | None = None,
        options: Sequence[str] | None = None,
        multiple: bool = False,
        default: Mapping[str, Any] | None = None,
        subject: str | None = None,
    ) -> None:
        self.question = None if question is None else arguments.text(question, "question", most=QUESTION_MAX)
        self.subject = None if subject is None else arguments.text(subject, "subject", most=SUBJECT_MAX)
        self.approvers = None if approvers is None else parse_approvers(approvers)
        self.fields, self.options, self.multiple = fields, options, multiple
        self.form = parse_form(fields, options, multiple)
        self.default = default
        self.default_answer = None if default is None else _default(self.form, default)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the question and the approvers."""
        named = None if self.approvers is None else self.approvers.on_status()
        return "approval", arguments.differing(self, Approval.__init__, approvers=named)

    @property
    def asks(self) -> str:  # type: ignore[override]
        """The command with which a person answers."""
        who = "" if self.approvers is None else f", as {self.approvers.shown()}"
        return f"answer{who} with: {command(self.services.namespace, self.services.taskrun)}"

    def at_deadline(self) -> dict[str, Any] | None:
        """Return the event of the default, if there is one."""
        if self.default_answer is None:
            return None
        approved, answers = self.default_answer
        at = times.rfc3339(self.services.now())
        return {"approved": approved, "by": None, "note": None, "at": at} | self._filled(answers)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Check the TaskRun now and after each change."""
        from contextlib import aclosing  # noqa: PLC0415 - not needed in a task pod

        name = self.services.taskrun.name
        looked = self.services.versions(constants.API_VERSION, "TaskRun", name, managed=True)
        async with aclosing(looked) as versions:
            async for version in versions:
                if (event := await self._answer(version["metadata"])) is not None:
                    yield TriggerEvent(event)
                    return

    async def _answer(self, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
        written = metadata.get("annotations") or {}
        self.last_look = _problem(written, self.services.taskrun) or self._stranger(written[constants.APPROVAL_BY])
        if self.last_look:
            return None
        approved = WORDS[written[constants.APPROVAL]]
        try:
            answers = await self._answers(written.get(constants.APPROVAL_FIELDS)) if approved else _NO_ANSWERS
        except ValueError as error:
            self.last_look = f"the answer of {written[constants.APPROVAL_BY][:_BY_MAX]} does not fit: {error}"
            return None
        note = written.get(constants.APPROVAL_NOTE)
        return self._filled(answers) | {
            "approved": approved,
            "by": written[constants.APPROVAL_BY][:_BY_MAX],
            "note": note and note[:_NOTE_MAX],
            "at": _written_at(metadata, by=times.rfc3339(self.services.now())),
        }

    async def _answers(self, text: str | None) -> FormAnswers:
        """Return the answers to the form. Raises ValueError that says what does not fit."""
        if text is not None and len(text) > ANSWER_MAX:
            raise ValueError(f"{constants.APPROVAL_FIELDS} has {len(text)} characters; the limit is {ANSWER_MAX}")
        try:
            given = {} if text is None else json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError(f"{constants.APPROVAL_FIELDS} is not JSON") from None
        answers = self.form.answers(given)
        for field in self.form.fields:
            value = answers.fields.get(field.name)
            if field.pattern and isinstance(value, str):
                await self._check_pattern(field.name, field.pattern, value)
        return answers

    async def _check_pattern(self, name: str, pattern: str, value: str) -> None:
        """Raise ValueError for a value that does not match. The pattern has the limits of an expression."""
        try:
            matches = await self.services.evaluate(PATTERN_MATCHES, {"value": value, "pattern": pattern})
        except NotYetError as error:
            raise ValueError(f"the pattern of {name} is invalid: {error}") from error
        if matches is not True:
            raise ValueError(f"{name} does not match {pattern}")

    def _filled(self, answers: FormAnswers) -> dict[str, Any]:
        fields = {"fields": answers.fields} if self.form.fields else {}
        return fields | ({OPTIONS: list(answers.options)} if self.form.options else {})

    def _stranger(self, by: str) -> str:
        """Return why this user may not answer. Only the policy knows the members of groups."""
        if self.approvers is None or self.approvers.groups or by in self.approvers.users:
            return ""
        return f"{by[:_BY_MAX]} answered, but only {self.approvers.shown()} may"


def _default(form: Form, default: object) -> tuple[bool, FormAnswers]:
    """Return the answer at the timeout. Raises ValueError."""
    if not isinstance(default, Mapping) or not default or not set(default) <= {"approved", "fields", OPTIONS}:
        raise ValueError("default must be {approved, fields, options}, or some of them")
    approved, fields = default.get("approved", True), default.get("fields", {})
    if not isinstance(approved, bool) or not isinstance(fields, Mapping):
        raise ValueError("default: approved must be true or false, and fields an object")  # noqa: TRY004 - a part of it
    if not approved:
        return False, _NO_ANSWERS
    chosen = {OPTIONS: default[OPTIONS]} if OPTIONS in default else {}
    try:
        return True, form.answers({**fields, **chosen})
    except ValueError as error:
        raise ValueError(f"default: {error}") from error


def wait_name(taskrun: TaskRunRef) -> str:
    """Return the name of a deferral in an answer, such as `a1-s0`."""
    return f"a{taskrun.attempt}-s{taskrun.segment}"


def command(namespace: str, taskrun: TaskRunRef) -> str:
    """Return the kubectl command that approves."""
    which = "" if _is_first(taskrun) else f" {constants.APPROVAL_FOR}={wait_name(taskrun)}"
    return (
        f"kubectl annotate --overwrite -n {namespace} taskrun {taskrun.name} "
        f"{constants.APPROVAL}=approved {constants.APPROVAL_BY}=YOU{which}"
    )


def _is_first(taskrun: TaskRunRef) -> bool:
    return (taskrun.attempt, taskrun.segment) == (1, 0)


def _problem(written: Mapping[str, str], taskrun: TaskRunRef) -> str:
    """Return why the annotations do not answer this deferral; empty if they do."""
    word = written.get(constants.APPROVAL)
    if word is None:
        return "no answer yet"
    named = written.get(constants.APPROVAL_FOR, wait_name(taskrun) if _is_first(taskrun) else "")
    if named != wait_name(taskrun):
        return f"the answer {word[:20]!r} is for an earlier deferral of this TaskRun"
    if word not in WORDS:
        return f"{constants.APPROVAL} is {word[:20]!r}, neither approved nor rejected"
    return "" if written.get(constants.APPROVAL_BY) else f"{constants.APPROVAL_BY} is missing"


def _written_at(metadata: Mapping[str, Any], *, by: str) -> str:
    """Return the last write of the field's manager, at the latest `by` (now).

    It may have written something else after.
    """
    moments = [
        str(entry["time"])
        for entry in metadata.get("managedFields") or ()
        if f"f:{constants.APPROVAL}" in _annotations(entry) and entry.get("time")
    ]
    return min(max(moments, default=by), by)


def _annotations(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    annotations: Mapping[str, Any] = fields.get("f:annotations") or {}
    return annotations

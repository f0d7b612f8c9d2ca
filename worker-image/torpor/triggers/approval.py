"""Waits for a person to approve or reject, with `kubectl annotate` on the TaskRun.

The admission policy `torpor-approval` ensures that `torpor.dev/approval-by` is the name of the user who sets the
annotation. An answer applies to one deferral: the first of the first attempt, or the one that it names. So an answer to
an earlier deferral never applies to a later one, regardless of clocks and other writes.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from torpor_wire import constants, times
from torpor_wire.approvers import parse_approvers

from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import TaskRunRef
from torpor.triggers.support import arguments

WORDS = {"approved": True, "rejected": False}
_BY_MAX = 256
_NOTE_MAX = 1024
_QUESTION_MAX = 500


class Approval(BaseTrigger):
    """Fires when a person has approved or rejected.

    The event is `{approved, by, note, at}`: `approved` is a boolean, `note` may be null, and `at` is the RFC 3339 time
    at which the API server stored the answer.

    Args:
        question: Text that people see in the list of TaskRuns.
        approvers: Who may answer: `{"users": [...], "groups": [...]}`. The admission policy rejects others. By default
            anyone who may patch the TaskRun.
    """

    def __init__(self, question: str | None = None, approvers: Mapping[str, Sequence[str]] | None = None) -> None:
        self.question = None if question is None else arguments.text(question, "question", most=_QUESTION_MAX)
        self.approvers = None if approvers is None else parse_approvers(approvers)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the question and the approvers."""
        named = None if self.approvers is None else self.approvers.on_status()
        return "approval", arguments.differing(self, Approval.__init__, approvers=named)

    @property
    def asks(self) -> str:  # type: ignore[override]
        """The command with which a person answers."""
        who = "" if self.approvers is None else f", as {self.approvers.shown()}"
        return f"answer{who} with: {command(self.services.namespace, self.services.taskrun)}"

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Check the TaskRun now and after each change."""
        from contextlib import aclosing  # noqa: PLC0415 - not needed in a task pod

        name = self.services.taskrun.name
        looked = self.services.versions(constants.API_VERSION, "TaskRun", name, managed=True)
        async with aclosing(looked) as versions:
            async for version in versions:
                if (event := self._answer(version["metadata"])) is not None:
                    yield TriggerEvent(event)
                    return

    def _answer(self, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
        written = metadata.get("annotations") or {}
        self.last_look = _problem(written, self.services.taskrun) or self._stranger(written[constants.APPROVAL_BY])
        if self.last_look:
            return None
        note = written.get(constants.APPROVAL_NOTE)
        return {
            "approved": WORDS[written[constants.APPROVAL]],
            "by": written[constants.APPROVAL_BY][:_BY_MAX],
            "note": note and note[:_NOTE_MAX],
            "at": _written_at(metadata, by=times.rfc3339(self.services.now())),
        }

    def _stranger(self, by: str) -> str:
        """Return why this user may not answer. Only the policy knows the members of groups."""
        if self.approvers is None or self.approvers.groups or by in self.approvers.users:
            return ""
        return f"{by[:_BY_MAX]} answered, but only {self.approvers.shown()} may"


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

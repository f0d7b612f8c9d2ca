"""Waiting for a person's word on the TaskRun itself: `kubectl annotate` is enough.

That the name beside the word is the name of whoever wrote it is held by an admission policy (`torpor-approval`). A word
answers one wait: the first of the first attempt, or the one that it names. So what was said to an earlier wait of the
TaskRun never answers a later one, whatever any clock shows and whatever else has been written on the object since.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from torpor_wire import constants, times
from torpor_wire.approvers import parse

from torpor.triggers.base import BaseTrigger, TriggerEvent
from torpor.triggers.services import TaskRunRef
from torpor.triggers.support import arguments

WORDS = {"approved": True, "rejected": False}
_BY_MAX = 256
_NOTE_MAX = 1024
_QUESTION_MAX = 500


class Approval(BaseTrigger):
    """Fires when somebody has approved or rejected. `question` is shown to whoever lists the TaskRuns.

    `approvers` (`{users: [...], groups: [...]}`) are who alone may: an admission policy refuses the word of any other.

    The event has `approved` (true or false), `by`, `note` (or null) and `at`, RFC 3339: when the API server took the
    word, to the second, where it tells.
    """

    def __init__(self, question: str | None = None, approvers: Mapping[str, Sequence[str]] | None = None) -> None:
        self.question = None if question is None else arguments.text(question, "question", most=_QUESTION_MAX)
        self.approvers = None if approvers is None else parse(approvers)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """The question and the approvers, if there are any."""
        named = None if self.approvers is None else self.approvers.on_status()
        return "approval", arguments.differing({"question": self.question, "approvers": named}, {})

    @property
    def asks(self) -> str:  # type: ignore[override]
        """What a person does about it, said for as long as it can be done."""
        who = "" if self.approvers is None else f", as {self.approvers.shown()}"
        return f"to answer{who}: {command(self.services.namespace, self.services.taskrun)}"

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look at the TaskRun as it is, then at each change."""
        from contextlib import aclosing  # noqa: PLC0415 - a task pod has no use for it

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
        """Why it is not this person's to answer; of groups only the policy knows who is in them."""
        if self.approvers is None or self.approvers.groups or by in self.approvers.users:
            return ""
        return f"{by[:_BY_MAX]} answered, and only {self.approvers.shown()} may"


def wait_name(taskrun: TaskRunRef) -> str:
    """What a word names the wait by, as the names of pods do."""
    return f"a{taskrun.attempt}-s{taskrun.segment}"


def command(namespace: str, taskrun: TaskRunRef) -> str:
    """What a person types."""
    which = "" if _is_first(taskrun) else f" {constants.APPROVAL_FOR}={wait_name(taskrun)}"
    return (
        f"kubectl annotate --overwrite -n {namespace} taskrun {taskrun.name} "
        f"{constants.APPROVAL}=approved {constants.APPROVAL_BY}=YOU{which}"
    )


def _is_first(taskrun: TaskRunRef) -> bool:
    return (taskrun.attempt, taskrun.segment) == (1, 0)


def _problem(written: Mapping[str, str], taskrun: TaskRunRef) -> str:
    """Why what stands there is no answer to this wait; empty if it is one."""
    word = written.get(constants.APPROVAL)
    if word is None:
        return "nobody has answered yet"
    named = written.get(constants.APPROVAL_FOR, wait_name(taskrun) if _is_first(taskrun) else "")
    if named != wait_name(taskrun):
        return f"what was {word[:20]} is an earlier wait of this TaskRun"
    if word not in WORDS:
        return f"{constants.APPROVAL} is {word[:20]!r}, neither approved nor rejected"
    return "" if written.get(constants.APPROVAL_BY) else f"{constants.APPROVAL_BY} is missing"


def _written_at(metadata: Mapping[str, Any], *, by: str) -> str:
    """When the field's manager wrote last: the word, or something else after it. Never after `by`, the present."""
    moments = [
        str(entry["time"])
        for entry in metadata.get("managedFields") or ()
        if f"f:{constants.APPROVAL}" in _annotations(entry) and entry.get("time")
    ]
    return min(max(moments, default=by), by)


def _annotations(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    found: Mapping[str, Any] = fields.get("f:annotations") or {}
    return found

"""Approves and rejects tasks that wait for a person."""

import json
from collections.abc import Mapping
from typing import Literal

from torpor_client.changes import approvals, commands, effects, operations
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire.approvers import OPTIONS

from torpor_ui import errors
from torpor_ui.acts import objects
from torpor_ui.acts.act import ActOutcome, ActPreview, each
from torpor_ui.acts.request import ActRequest
from torpor_ui.acts.rights import Right
from torpor_ui.cluster.caller import Caller
from torpor_ui.presentation.keys import InstanceKey, RunKey


class AnswerAct:
    """Answers the question of tasks of one run."""

    right = Right.ANSWER

    def __init__(self, verb: Literal["approve", "reject"]) -> None:
        self._verb = verb

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what the answer does."""
        key, note = self._checked(request)
        sentences: list[str] = []
        lines: list[str] = []
        asking = await objects.asking_taskruns(caller, key, request.tasks)
        for task in request.tasks:
            taskrun = _one(asking, key, task)
            answers = self._answers(taskrun, request)
            sentences += effects.of_answer(self._verb, task.ref, approvals.question(taskrun))
            lines.append(self._command(key, task, note, answers))
        return ActPreview(effects=tuple(sentences), command="\n".join(lines))

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Write the answer. The policy of the API server checks that the caller is one of the approvers."""
        key, note = self._checked(request)
        word = approvals.VERBS[self._verb]
        asking = await objects.asking_taskruns(caller, key, request.tasks)

        async def answered(task: InstanceKey) -> str:
            taskrun = _one(asking, key, task)
            written = approvals.annotations(taskrun, word, caller.user, note, self._answers(taskrun, request))
            await objects.change(caller, TASKRUNS, taskrun, lambda item: operations.annotate(item, written))
            return f"{task.ref} of {key.name} {word}"

        return await each(request.tasks, answered)

    def _answers(self, taskrun: Object, request: ActRequest) -> str | None:
        """Return the answers to the form as JSON text. Raises ProblemError with the field of those that do not fit."""
        if self._verb == "reject":
            return None
        try:
            return approvals.checked(approvals.form(taskrun), request.answers())
        except approvals.AnswerRefusedError as error:
            raise errors.of_field(error.problem, error.field) from error

    def _command(self, key: RunKey, task: InstanceKey, note: str | None, answers: str | None) -> str:
        fields = {} if answers is None else json.loads(answers)
        options = fields.pop(OPTIONS, ())
        return commands.answer(self._verb, key.namespace, key.name, task.ref, note, fields=fields, options=options)

    @staticmethod
    def _checked(request: ActRequest) -> tuple[RunKey, str | None]:
        """Return the run and the note. Raises ProblemError and UserError."""
        if not request.tasks:
            raise errors.invalid("name at least one task")
        note = request.text("note") or None
        approvals.check_note(note)
        return request.only_run(), note


def _one(asking: Mapping[InstanceKey, Object], key: RunKey, task: InstanceKey) -> Object:
    """Return the TaskRun of an instance. Raises ProblemError if it does not wait for an answer."""
    if task not in asking:
        raise errors.cannot(f"{task.ref} of {key.name} does not wait for an approval")
    return asking[task]

"""Answers the approvals of a local run by the annotations that `torpor approve` and `torpor reject` write in a cluster.

The trigger `approval` checks an answer as in a cluster, and would wait on after one that does not fit. No user could
give another one, so this checks it first, and ends the run.
"""

import asyncio
import getpass
import json
from collections.abc import Mapping, Sequence
from typing import Any, Never

from torpor_client.changes import approvals
from torpor_client.errors import UsageError
from torpor_expressions.errors import ExpressionError
from torpor_expressions.evaluator import Evaluating
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire.approvers import PATTERN_MATCHES

from torpor_local import waits
from torpor_local.apiserver.server import ApiServer
from torpor_local.options import GivenAnswer, LocalRunError, Object


class GivenAnswers:
    """The answers of the user, by task, or by task and index as `load/3`."""

    def __init__(self, answers: Mapping[str, GivenAnswer], server: ApiServer) -> None:
        self._answers = answers
        self._server = server
        self._asking: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def observe(self, taskrun: Object) -> None:
        """Note a TaskRun that has changed."""
        if self._answers and approvals.asks(taskrun) and waits.given(self._answers, taskrun) is not None:
            metadata = taskrun["metadata"]
            self._asking.put_nowait((metadata["namespace"], metadata["name"]))

    async def run(self, evaluator: Evaluating) -> Never:
        """Answer each TaskRun that asks. Raises LocalRunError for an answer that does not fit."""
        while True:
            taskrun = self._server.get(TASKRUNS, *(await self._asking.get()))
            answer = None if taskrun is None else waits.given(self._answers, taskrun)
            if taskrun is not None and answer is not None and approvals.asks(taskrun):
                await self._answer(taskrun, answer, evaluator)

    async def _answer(self, taskrun: Object, answer: GivenAnswer, evaluator: Evaluating) -> None:
        try:
            fields = await _fields(taskrun, answer, evaluator) if answer.approved else None
        except UsageError as error:
            raise LocalRunError(f"--answer {waits.instance(taskrun)}: {error}") from error
        word = "approved" if answer.approved else "rejected"
        written = approvals.annotations(taskrun, word, _user(taskrun), answer.note, fields)
        metadata = taskrun["metadata"]
        if not written.items() <= (metadata.get("annotations") or {}).items():
            self._server.edit(TASKRUNS, metadata["namespace"], metadata["name"], {"metadata": {"annotations": written}})


async def _fields(taskrun: Object, answer: GivenAnswer, evaluator: Evaluating) -> str | None:
    """Return the answers to the form as JSON text. Raises UsageError."""
    form = approvals.form(taskrun)
    try:
        text = approvals.checked(form, answer.given())
    except approvals.AnswerRefusedError as error:
        raise UsageError(error.problem) from error
    values: Mapping[str, Any] = {} if text is None else json.loads(text)
    for field in form.fields:
        if field.pattern and isinstance(value := values.get(field.name), str):
            matches = await evaluator.evaluate(PATTERN_MATCHES, {"value": value, "pattern": field.pattern})
            if isinstance(matches, ExpressionError) or matches.json is not True:
                raise UsageError(f"{field.name} does not match {field.pattern}")
    return text


def _user(taskrun: Object) -> str:
    """Return the first approver that the trigger names, else the user of this process: a local run has no others."""
    named: Sequence[str] = (taskrun["status"]["trigger"].get("approvers") or {}).get("users") or ()
    try:
        return named[0] if named else getpass.getuser()
    except (OSError, KeyError):  # a container without the user in its passwd
        return "local"

"""Runs tasks again, and marks instances: requests by annotation that the operator answers."""

import asyncio
import time

from torpor_client.changes import clear_preview, commands, effects, marks, operations, requests
from torpor_client.changes.requests import (
    Answer,
    RequestAccepted,
    RequestKind,
    RequestRefused,
    RequestUnanswered,
)
from torpor_client.errors import UserError
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import EVENTS, WORKFLOWS
from torpor_views.model import RunView

from torpor_ui import errors
from torpor_ui.acts import objects
from torpor_ui.acts.act import ActOutcome, ActPreview, each, message_of
from torpor_ui.acts.request import ActRequest
from torpor_ui.acts.rights import Right
from torpor_ui.cluster.caller import Caller
from torpor_ui.errors import ProblemError
from torpor_ui.presentation.keys import InstanceKey, RunKey

_PAUSE_S = 0.3
_PREVIEWED = 20
"""Runs whose tasks a preview lists; it counts the others."""


class RetryAct:
    """Runs what failed again, or the named instances, with everything that depends on them."""

    right = Right.CHANGE_RUNS

    def __init__(self, *, needs_tasks: bool = False) -> None:
        self._needs_tasks = needs_tasks

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what runs again."""
        self._check(request)
        lines: list[str] = []
        sentences: list[str] = []
        warnings: list[str] = []
        refs = [task.ref for task in request.tasks]
        for number, key in enumerate(request.runs):
            lines.append(commands.retry(key.namespace, key.name, refs))
            if number >= _PREVIEWED:
                continue
            try:
                run, text = await self._request(caller, await objects.live_workflow(caller, key), request.tasks)
            except (UserError, ProblemError) as error:
                warnings.append(message_of(error))
                continue
            named = f"{key.name}: " if len(request.runs) > 1 else ""
            cleared = await asyncio.to_thread(clear_preview.preview, run, text)
            sentences += [named + line for line in effects.of_clear(cleared)]
        if (more := len(request.runs) - _PREVIEWED) > 0:
            sentences.append(f"and what failed in {more} more runs")
        return ActPreview(effects=tuple(sentences), command="\n".join(lines), warnings=tuple(warnings))

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Ask the operator, and wait for its answers, for all runs together as long as for one."""
        self._check(request)
        ends = time.monotonic() + requests.ANSWER_S

        async def repeated(key: RunKey) -> str:
            workflow = await objects.live_workflow(caller, key)
            _, text = await self._request(caller, workflow, request.tasks)
            annotations = requests.clear_annotations(text, caller.user)
            answer = await _ask(caller, workflow, annotations, requests.CLEAR, ends)
            return _sentence(answer, f"{key.name} runs these tasks again", "to run them again")

        return await each(request.runs, repeated)

    def _check(self, request: ActRequest) -> None:
        if not request.runs:
            raise errors.invalid("name at least one run")
        if request.tasks and len(request.runs) > 1:
            raise errors.invalid("tasks are those of one run; name one run")
        if self._needs_tasks and not request.tasks:
            raise errors.invalid("name at least one task")

    @staticmethod
    async def _request(caller: Caller, workflow: Object, tasks: tuple[InstanceKey, ...]) -> tuple[RunView, str]:
        """Return the run, and the value of the annotation. Raises UserError."""
        requests.check_not_cancelled(workflow, "retry it")
        requests.check_no_request(workflow, "retry of", requests.CLEAR)
        run = await objects.run_of(caller, workflow)
        return run, await asyncio.to_thread(clear_preview.request, run, [task.ref for task in tasks])


class MarkAct:
    """Ends instances as succeeded, skipped or failed without running them."""

    right = Right.CHANGE_RUNS

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what ends, and how."""
        key, state = request.only_run(), request.text("state")
        _, refs, _ = await self._request(caller, request, because="a reason")
        because = request.text("because") or "WHY"
        command = commands.mark(key.namespace, key.name, (task.ref for task in request.tasks), state, because)
        run = await objects.live_workflow(caller, key)
        return ActPreview(effects=effects.of_mark(RunView.parse(run, now=0.0), refs, state), command=command)

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Ask the operator, and wait for its answer."""
        key, state = request.only_run(), request.text("state")

        async def marked(_: RunKey) -> str:
            workflow, refs, because = await self._request(caller, request, because=request.text("because"))
            result = request.text("result") or None
            text = marks.request_of(refs, state, because, result)
            annotations = requests.mark_annotations(text, result, caller.user)
            ends = time.monotonic() + requests.ANSWER_S
            answer = await _ask(caller, workflow, annotations, requests.MARK, ends)
            named = refs[0] if len(refs) == 1 else f"{len(refs)} instances"
            return _sentence(answer, f"{named} of {key.name}: marked as {state}", "the mark")

        return await each([key], marked)

    @staticmethod
    async def _request(caller: Caller, request: ActRequest, *, because: str) -> tuple[Object, list[str], str]:
        """Return the Workflow, the instances, and why, as the annotation has them. Raises UserError."""
        key = request.only_run()
        if not request.tasks:
            raise errors.invalid("name at least one task")
        wanted = [task.reference(key.name) for task in request.tasks]
        because = marks.check(wanted[0], request.text("state"), because, request.text("result") or None)
        workflow = await objects.live_workflow(caller, key)
        requests.check_not_cancelled(workflow, "mark")
        requests.check_no_request(workflow, "request for", requests.MARK, requests.CLEAR)
        run = await objects.run_of(caller, workflow)
        refs = [ref for each in wanted for ref in marks.instances(run, each)]
        return workflow, list(dict.fromkeys(refs)), because


async def _ask(caller: Caller, workflow: Object, annotations: dict[str, str], kind: RequestKind, ends: float) -> Answer:
    """Set the annotations and return the operator's answer. `ends`: when to stop waiting, by the monotonic clock."""
    annotated = await objects.change(caller, WORKFLOWS, workflow, lambda item: operations.annotate(item, annotations))
    metadata = annotated["metadata"]
    while time.monotonic() < ends:
        current = await caller.api.get(WORKFLOWS, metadata["namespace"], metadata["name"])
        if current["metadata"]["uid"] != metadata["uid"]:
            raise errors.cannot(f"run {metadata['name']} was deleted")
        if requests.is_accepted(workflow, current):
            return RequestAccepted()
        if requests.is_handled(annotated, current, kind):
            return await _refusal(caller, annotated, kind)
        await asyncio.sleep(_PAUSE_S)
    return RequestUnanswered()


async def _refusal(caller: Caller, workflow: Object, kind: RequestKind) -> RequestRefused:
    """Return the refusal with the message of its Event, which may arrive after the change of the Workflow."""
    ends = time.monotonic() + requests.EVENT_S
    namespace, selector = workflow["metadata"]["namespace"], requests.refusals(workflow, kind)
    while time.monotonic() < ends:
        try:
            page = await caller.api.list(EVENTS, namespace, field_selector=selector)
        except api_errors.ApiError:
            break
        if message := requests.refusal(page.items, workflow):
            return RequestRefused(message=message)
        await asyncio.sleep(_PAUSE_S)
    return requests.without_event(workflow)


def _sentence(answer: Answer, accepted: str, refused: str) -> str:
    """Return what was done. Raises ProblemError for a refusal."""
    match answer:
        case RequestAccepted():
            return accepted
        case RequestRefused(message=message):
            raise errors.cannot(f"Torpor refused {refused}: {message}")
        case RequestUnanswered():
            return "requested; the operator has not answered yet"

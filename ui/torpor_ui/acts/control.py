"""Suspends, resumes, stops, cancels and deletes runs."""

import time
from typing import Literal, TypeAlias

from torpor_client.changes import commands, control, effects, operations
from torpor_client.errors import UserError
from torpor_client.runs import run_state
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_views.model import RunView

from torpor_ui import errors
from torpor_ui.acts import objects
from torpor_ui.acts.act import ActOutcome, ActPreview, each, message_of
from torpor_ui.acts.request import ActRequest
from torpor_ui.acts.rights import Right
from torpor_ui.cluster.caller import Caller
from torpor_ui.errors import ProblemError
from torpor_ui.presentation.keys import RunKey

Verb: TypeAlias = Literal["suspend", "resume", "stop", "cancel"]
_DONE = {"suspend": "suspended", "resume": "resumed", "stop": "stops", "cancel": "is cancelled"}


class ControlAct:
    """Sets a field of the spec of runs."""

    right = Right.CHANGE_RUNS

    def __init__(self, verb: Verb) -> None:
        self._verb = verb

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what happens to the tasks and waits of the runs."""
        return await _preview(caller, request, self._verb)

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Set the field, with the annotation that names the caller."""
        wanted = control.VERBS[self._verb]

        async def changed(key: RunKey) -> str:
            workflow = await objects.live_workflow(caller, key)
            control.check(workflow, self._verb)
            if not control.is_done(workflow, self._verb):
                values = {wanted.field: wanted.value}
                await objects.change(
                    caller, WORKFLOWS, workflow, lambda item: operations.set_spec(item, values, caller.user)
                )
            return f"{key.name} {_DONE[self._verb]}"

        return await each(request.runs, changed)


class DeleteAct:
    """Deletes runs with their TaskRuns and pods."""

    right = Right.DELETE_RUNS

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what is deleted."""
        return await _preview(caller, request, "delete")

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Delete the runs that the caller saw, not others that have taken their names."""

        async def deleted(key: RunKey) -> str:
            workflow = await objects.live_workflow(caller, key)
            await caller.api.delete(WORKFLOWS, key.namespace, key.name, uid=workflow["metadata"]["uid"])
            goes_on = "" if run_state.has_ended(workflow) else "; it is cancelled first"
            return f"{key.name} deleted{goes_on}"

        return await each(request.runs, deleted)


async def _preview(caller: Caller, request: ActRequest, verb: str) -> ActPreview:
    """The counts of the Workflow status are exact enough here, so TaskRuns are not read."""
    if not request.runs:
        raise errors.invalid("name at least one run")
    sentences: list[str] = []
    warnings: list[str] = []
    kept: dict[str, list[str]] = {}
    for key in request.runs:
        try:
            workflow = await objects.live_workflow(caller, key)
            if verb != "delete":
                control.check(workflow, verb)
        except (UserError, ProblemError) as error:
            warnings.append(message_of(error))
            continue
        kept.setdefault(key.namespace, []).append(key.name)
        sentences += effects.of_control(RunView.parse(workflow, now=time.time()), verb)
    lines = [commands.of_runs(verb, namespace, names) for namespace, names in kept.items()]
    return ActPreview(effects=tuple(sentences), command="\n".join(lines), warnings=tuple(warnings))

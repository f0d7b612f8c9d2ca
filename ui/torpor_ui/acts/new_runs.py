"""Creates runs: from a template, and from an earlier run."""

from collections.abc import Mapping
from typing import Any

from torpor_client.changes import commands, effects, new_runs, params, template_params
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import WORKFLOWS

from torpor_ui import errors
from torpor_ui.acts import objects
from torpor_ui.acts.act import ActOutcome, ActPreview, message_of
from torpor_ui.acts.request import ActRequest
from torpor_ui.acts.rights import Right
from torpor_ui.cluster.caller import Caller


class SubmitAct:
    """Runs a template."""

    right = Right.CREATE_RUNS

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return the params of the new run. The API server checks it without creating it."""
        namespace, values = request.name("namespace"), request.params()
        template, body = await self._body(caller, request)
        declared = template_params.declared(template)
        defaults = {name: param["default"] for name, param in declared.items() if param.get("default") is not None}
        name = template["metadata"]["name"]
        return ActPreview(
            effects=effects.of_new_run(namespace, f"template {name}", values, defaults),
            command=commands.submit(namespace, name, values, request.name("name") or None),
            warnings=await _warnings(caller, namespace, body),
        )

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Create the run."""
        _, body = await self._body(caller, request)
        return await _created(caller, request.name("namespace"), body)

    @staticmethod
    async def _body(caller: Caller, request: ActRequest) -> tuple[Object, dict[str, Any]]:
        """Return the template and the run. Raises ProblemError and UserError."""
        namespace, name = request.name("namespace"), request.name("template")
        if not namespace or not name:
            raise errors.invalid("name a namespace and a template")
        template = await objects.template(caller, namespace, name)
        run_name = request.name("name")
        metadata = {"name": run_name} if run_name else None
        return template, new_runs.of_template(template, request.params(), metadata)


class ResubmitAct:
    """Runs an earlier run again, live or archived, perhaps with other params."""

    right = Right.CREATE_RUNS

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return the params of the new run, and in `params` those of the earlier one for a form."""
        key, given = request.only_run(), request.params()
        earlier, template, before = await self._earlier(caller, request)
        body = self._copy(earlier, template, before, given)
        changed = {name: value for name, value in given.items() if before.get(name) != value}
        return ActPreview(
            effects=effects.of_new_run(key.namespace, earlier["metadata"]["name"], {**before, **given}, before),
            command=commands.resubmit(key.namespace, _command_name(request, earlier), changed),
            warnings=await _warnings(caller, key.namespace, body),
            more={"params": before},
        )

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Create the run."""
        earlier, template, before = await self._earlier(caller, request)
        body = self._copy(earlier, template, before, request.params())
        return await _created(caller, request.only_run().namespace, body)

    @staticmethod
    async def _earlier(caller: Caller, request: ActRequest) -> tuple[Object, Object | None, dict[str, Any]]:
        """Return the earlier run, its template, and the params that it can have again. Raises ProblemError."""
        key = request.only_run()
        earlier = await objects.any_workflow(caller, key)
        reference = earlier["spec"].get("templateRef")
        template = None
        if reference:
            kind = reference.get("kind")
            template = await objects.template(caller, key.namespace, reference["name"], kind=kind)
        return earlier, template, new_runs.settable(earlier, template)

    @staticmethod
    def _copy(
        earlier: Object, template: Object | None, before: Mapping[str, Any], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the new run. Raises UserError for params that do not fit."""
        values = {**before, **given}
        if template is not None:
            values = template_params.parse((), values, template)
        else:
            params.check_names(given, before)
        return new_runs.copy_of(earlier, values)


def _command_name(request: ActRequest, earlier: Object) -> str:
    """The run as the command finds it: an archived one by its uid, since a later run may have its name."""
    key = request.only_run()
    return key.name if key.source == "archive" else str(earlier["metadata"]["name"])


async def _warnings(caller: Caller, namespace: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return why the API server would not create a run."""
    try:
        await caller.api.create(WORKFLOWS, namespace, body, dry_run=True)
    except api_errors.ApiError as error:
        return (message_of(error),)
    return ()


async def _created(caller: Caller, namespace: str, body: Mapping[str, Any]) -> ActOutcome:
    run = await caller.api.create(WORKFLOWS, namespace, body)
    name = run["metadata"]["name"]
    return ActOutcome(done=(f"{name} created",), created=f"live/{namespace}/{name}")

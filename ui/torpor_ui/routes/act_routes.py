"""`api/access`, `api/acts/...` and `api/templates`: what a caller may change, what that does, and doing it."""

from dataclasses import asdict
from typing import Any

from aiohttp import web
from torpor_client.errors import UserError
from torpor_kubernetes.client.resources import TEMPLATES
from torpor_views import json_fields

from torpor_ui import errors
from torpor_ui.acts import request as act_request
from torpor_ui.acts.act import Act, message_of
from torpor_ui.acts.request import ActRequest
from torpor_ui.acts.rights import Permission
from torpor_ui.acts.table import ACTS, acts_of
from torpor_ui.cluster.caller import Caller
from torpor_ui.http.context import caller_of, json_body, json_response
from torpor_ui.presentation import run_filters
from torpor_ui.routes.services import Services

_TEMPLATES_MAX = 1000


class ActRoutes:
    """The endpoints of what changes something."""

    def __init__(self, services: Services) -> None:
        self._rights = services.rights
        self._scans = services.scans

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get("/api/access", self.access),
            web.post("/api/acts/{act}/preview", self.preview),
            web.post("/api/acts/{act}", self.perform),
            web.get("/api/templates", self.templates),
        ]

    async def access(self, request: web.Request) -> web.Response:
        """Return which acts the caller may do in a namespace, and why not the others."""
        namespaces = run_filters.namespaces(request.query.get("ns", ""))
        if len(namespaces) != 1:
            raise errors.invalid("name one namespace: api/access?ns=NAMESPACE")
        return json_response({"acts": await acts_of(self._rights, caller_of(request), namespaces[0])})

    async def preview(self, request: web.Request) -> web.Response:
        """Return what an act will do, without doing it."""
        act, caller, wanted = _act(request), caller_of(request), act_request.parse(await json_body(request))
        permission = await self._permission(caller, act, wanted)
        try:
            preview = await act.preview(caller, wanted)
        except UserError as error:
            raise errors.cannot(str(error)) from error
        shown: dict[str, Any] = {
            "effects": preview.effects,
            "command": preview.command,
            "allowed": permission.allowed,
            "reason": permission.reason,
            "warnings": preview.warnings,
        }
        return json_response({**preview.more, **shown})

    async def perform(self, request: web.Request) -> web.Response:
        """Do it, with the caller's credentials."""
        act, caller, wanted = _act(request), caller_of(request), act_request.parse(await json_body(request))
        try:
            outcome = await act.perform(caller, wanted)
        except UserError as error:
            raise errors.cannot(message_of(error)) from error
        finally:
            self._scans.forget(caller)
        created = {"created": outcome.created} if outcome.created else {}
        failed = [asdict(failure) for failure in outcome.failed]
        return json_response({"done": outcome.done, "failed": failed, **created})

    async def templates(self, request: web.Request) -> web.Response:
        """Return the templates of namespaces with their params."""
        caller = caller_of(request)
        shown: list[dict[str, Any]] = []
        for namespace in run_filters.namespaces(request.query.get("ns", "")) or (None,):
            page = await caller.api.list(TEMPLATES, namespace)
            shown += map(_template, page.items)
        return json_response(shown[:_TEMPLATES_MAX])

    async def _permission(self, caller: Caller, act: Act, wanted: ActRequest) -> Permission:
        """Return whether the caller may act in all namespaces of a request."""
        for namespace in wanted.namespaces:
            permission = await self._rights.permission(caller, namespace, act.right)
            if not permission.allowed:
                return permission
        return Permission(allowed=True)


def _act(request: web.Request) -> Act:
    name = request.match_info["act"]
    act = ACTS.get(name)
    if act is None:
        raise errors.not_found(f"there is no act {name[:60]!r}")
    return act


def _template(body: dict[str, Any]) -> dict[str, Any]:
    metadata, spec = json_fields.fields(body.get("metadata")), json_fields.fields(body.get("spec"))
    annotations = json_fields.fields(metadata.get("annotations"))
    return {
        "namespace": json_fields.text(metadata.get("namespace")),
        "name": json_fields.text(metadata.get("name")),
        "description": json_fields.text(spec.get("description"))
        or json_fields.text(annotations.get("kubernetes.io/description")),
        "params": [_param(param) for param in json_fields.objects(spec.get("params"))],
    }


def _param(param: json_fields.Fields) -> dict[str, Any]:
    text = json_fields.text
    optional = {name: param[name] for name in ("enum", "pattern", "default") if param.get(name) is not None}
    return {
        "name": text(param.get("name")),
        "type": text(param.get("type")) or "string",
        "required": param.get("required") is True and param.get("default") is None,
        "description": text(param.get("description")),
        **optional,
    }

"""The API server in memory over HTTP, with authentication and rights, and an archive behind its service proxy."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import PODS, Resource
from torpor_kubernetes.timing import Clock, SystemClock
from torpor_local.apiserver.server import ApiRequest, ApiServer
from torpor_wire import times

from tests.support.made_up_cluster.archive import MadeUpArchive
from tests.support.made_up_cluster.users import ADMIN, READ, User

NAMESPACES = Resource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)
SERVICE_ACCOUNTS = Resource(group="", version="v1", plural="serviceaccounts", kind="ServiceAccount")
PROXY = re.compile(r"/api/v1/namespaces/([a-z-]+)/services/https:torpor-archive:8443/proxy/v1")
Object = dict[str, Any]
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(slots=True, kw_only=True)
class MadeUpApi:
    """What is served. `requests` has `user verb path` of each request; `watches` counts the open ones of each user."""

    clock: Clock = field(default_factory=SystemClock)
    users: dict[str, User] = field(default_factory=lambda: {"admin-token": ADMIN})
    archive: MadeUpArchive = field(default_factory=MadeUpArchive)
    requests: list[str] = field(default_factory=list)
    watches: list[str] = field(default_factory=list)
    logs: dict[str, list[str]] = field(default_factory=dict)
    server: ApiServer = field(init=False)
    url: str = ""

    def __post_init__(self) -> None:
        self.server = ApiServer(self.clock)
        self.server.serve(NAMESPACES)
        self.server.serve(SERVICE_ACCOUNTS)

    def add_namespaces(self, *names: str) -> None:
        """Create namespaces that do not exist."""
        for name in names:
            if self.server.get(NAMESPACES, "", name) is not None:
                continue
            self.server.put(NAMESPACES, {"metadata": {"name": name}, "status": {"phase": "Active"}})

    def put_at(self, resource: Resource, body: Object, moment: float) -> Object:
        """Create an object with its status, as if at another time."""
        stored = self.server.put(resource, body)
        meta = {"creationTimestamp": times.rfc3339(moment)}
        namespace, name = stored["metadata"]["namespace"], stored["metadata"]["name"]
        return self.server.edit(resource, namespace, name, {"metadata": meta})

    def application(self) -> web.Application:
        """The web application."""
        application = web.Application(client_max_size=8 * 2**20)
        application.router.add_route("*", "/{path:.*}", self._handle)
        return application

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        user = self.users.get(request.headers.get("Authorization", "").removeprefix("Bearer "))
        verb = "watch" if "watch" in request.query else VERBS[request.method]
        if verb == "get" and not _has_name(request.path):
            verb = "list"
        self.requests.append(f"{user.name if user else '?'} {verb} {request.path}")
        if user is None:
            return _status(401, "Unauthorized", "Unauthorized")
        if (proxy := PROXY.match(request.path)) and proxy[1] == self.archive.system:
            return await self.archive.respond(request, request.path[proxy.end() :])
        namespace, resource = _place(request.path)
        if not user.may(verb, namespace, resource):
            where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            message = f'{resource} is forbidden: User "{user.name}" cannot {verb} resource "{resource}" {where}'
            return _status(403, "Forbidden", message)
        body = json.loads(await request.read() or b"null")
        return await self._answer(request, user, resource, body)

    async def _answer(self, request: web.Request, user: User, resource: str, body: Any) -> web.StreamResponse:
        match resource:
            case "selfsubjectreviews":
                info = {"username": user.name, "groups": list(user.groups)}
                return web.json_response({**body, "status": {"userInfo": info}}, status=201)
            case "selfsubjectaccessreviews":
                wanted = body["spec"].get("resourceAttributes") or {}
                allowed = user.may(wanted.get("verb", ""), wanted.get("namespace", ""), wanted.get("resource", ""))
                return web.json_response({**body, "status": {"allowed": allowed}}, status=201)
            case "serviceaccounts" if request.path.endswith("/token"):
                return web.json_response(
                    {**body, "status": {"token": f"archive:{_place(request.path)[0]}"}}, status=201
                )
            case "pods" if request.path.endswith("/log"):
                return await self._log(request)
        if "watch" in request.query:
            return await self._watch(request, user)
        if "dryRun" in request.query:
            return web.json_response(body, status=201)
        query = {name: value for name, value in request.query.items() if name != "fieldManager"}
        response = self.server.respond(ApiRequest(method=request.method, path=request.path, query=query, body=body))
        return web.json_response(response.body, status=response.status)

    async def _log(self, request: web.Request) -> web.StreamResponse:
        """Send the log of a pod; with `follow`, until its phase is terminal."""
        namespace, name = _place(request.path)[0], request.path.split("/")[-2]
        response = web.StreamResponse()
        await response.prepare(request)
        sent = 0
        while True:
            pod = self.server.get(PODS, namespace, name) or {}
            lines = self.logs.get(name, [])
            for line in lines[sent:]:
                await response.write(f"{line}\n".encode())
            sent = len(lines)
            if "follow" not in request.query or (pod.get("status") or {}).get("phase") in {None, "Succeeded", "Failed"}:
                return response
            await asyncio.sleep(0.02)

    async def _watch(self, request: web.Request, user: User) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        entry = f"{user.name} {request.path_qs}"
        self.watches.append(entry)
        try:
            async for event in self.server.stream(request.path, query=dict(request.query)):
                await response.write(json.dumps(event).encode() + b"\n")
        except errors.ApiError:
            pass
        finally:
            self.watches.remove(entry)
        return response


@asynccontextmanager
async def serve(api: MadeUpApi, port: int = 0) -> AsyncIterator[MadeUpApi]:
    """Serve on loopback for the block; `api.url` is the address."""
    runner = web.AppRunner(api.application(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield api
    finally:
        await runner.cleanup()
        await asyncio.sleep(0)


def _status(code: int, reason: str, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "reason": reason, "message": message}, status=code)


def _place(path: str) -> tuple[str, str]:
    """The namespace and the resource of a path."""
    words = path.strip("/").split("/")
    rest = words[2:] if words[0] == "api" else words[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        return rest[1], rest[2]
    return "", rest[0] if rest else ""


def _has_name(path: str) -> bool:
    words = path.strip("/").split("/")
    rest = words[2:] if words[0] == "api" else words[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return len(rest) > 1


assert {"get", "list", "watch"} == READ

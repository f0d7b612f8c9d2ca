"""The archive behind the service proxy: finished runs in pages, their objects, logs and results."""

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Object = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class MadeUpArchive:
    """What it holds. `away`: it does not respond. `entries` are in the order of the list, the latest end first.

    `system` is the namespace of its installation.
    """

    entries: list[Object] = field(default_factory=list)
    objects: dict[str, list[Object]] = field(default_factory=dict)
    logs: dict[str, tuple[Object, list[str]]] = field(default_factory=dict)
    results: dict[tuple[str, str], bytes] = field(default_factory=dict)
    away: bool = False
    system: str = "torpor-system"

    def add(self, workflow: Object, *others: Object) -> None:
        """Add a run that only the archive has."""
        metadata, status = workflow["metadata"], workflow["status"]
        entry = {name: metadata.get(name) for name in ("namespace", "name", "uid", "labels")}
        entry |= {"state": status["state"], "created": metadata["creationTimestamp"]}
        self.entries.append(entry | {"completed": status.get("completionTime")})
        self.objects[metadata["uid"]] = [workflow, *others]

    async def respond(self, request: web.Request, path: str) -> web.StreamResponse:
        """Answer a request below `/v1`."""
        token = request.headers.get("Torpor-Authorization", "").removeprefix("Bearer archive:")
        parts = path.strip("/").split("/")
        if self.away:
            return _problem(503, "ServiceUnavailable", "no endpoints available for service")
        if token not in {self.system, *parts[1:2]}:
            return _problem(401, "Unauthenticated", "the token is not accepted")
        match parts:
            case ["runs"] | ["namespaces", _, "runs"]:
                return self._list(request, parts[1] if len(parts) > 1 else "")
            case ["namespaces", namespace, "runs", uid] if self._has(namespace, uid):
                lines = "".join(f"{json.dumps(item)}\n" for item in self.objects[uid])
                return web.Response(text=lines)
            case ["namespaces", _, "runs", _, "logs"]:
                return web.json_response({"items": [item for item, _ in self.logs.values()]})
            case ["namespaces", _, "logs", identifier] if identifier in self.logs:
                return web.Response(text="".join(f"{line}\n" for line in self.logs[identifier][1]))
            case ["namespaces", _, "results", uid, digest] | ["namespaces", _, "files", uid, _, digest] if (
                uid,
                digest,
            ) in self.results:
                return web.Response(body=self.results[uid, digest])
            case _:
                return _problem(404, "NotFound", f"the archive has no {path}")

    def _has(self, namespace: str, uid: str) -> bool:
        return uid in self.objects and self.objects[uid][0]["metadata"]["namespace"] == namespace

    def _list(self, request: web.Request, namespace: str) -> web.Response:
        query = request.query
        chosen = [
            entry
            for entry in self.entries
            if (not namespace or entry["namespace"] == namespace)
            and ("state" not in query or entry["state"] in query.getall("state"))
            and ("name" not in query or entry["name"] == query["name"])
        ]
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "100"))
        page: Object = {"items": chosen[start : start + limit]}
        if start + limit < len(chosen):
            page["continue"] = str(start + limit)
        return web.json_response(page)


def _problem(status: int, reason: str, message: str) -> web.Response:
    return web.json_response({"reason": reason, "message": message}, status=status)

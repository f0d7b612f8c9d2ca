"""The routes of the fake cluster: those of the API server and of the archive that the command torpor uses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from torpor_local.apiserver import json_patch

from tests.support.fake_cluster.objects import NAMESPACE, ContainerLog, Object

if TYPE_CHECKING:
    from tests.support.fake_cluster.cluster import FakeCluster

PLURALS = (
    *("workflows", "taskruns", "workflowtemplates", "clusterworkflowtemplates", "schedules", "backfills"),
    *("pods", "events", "configmaps"),
)
PROXY = "/api/v1/namespaces/torpor-system/services/https:torpor-archive:8443/proxy/v1/"
PAGE = 2
"""Items of a page of the archive's list of logs."""


class Handler(BaseHTTPRequestHandler):
    cluster: FakeCluster
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.cluster.record(self.path)
        if parts.path.startswith(PROXY):
            self._archive(parts.path.removeprefix(PROXY).split("/"), query)
        else:
            self._api(parts.path, query)

    def do_POST(self) -> None:
        body = self._body()
        plural = self.path.partition("?")[0].rpartition("/")[2]
        if plural == "token":
            self._create_token(body["spec"]["audiences"])
        elif plural not in PLURALS:
            self._status(404, "NotFound", "the server could not find the requested resource")
        elif body["metadata"].get("name") in self.cluster.objects[plural]:
            self._status(409, "AlreadyExists", f"{plural} already exists")
        elif plural in self.cluster.rejected:
            self._status(400, "BadRequest", self.cluster.rejected[plural])
        else:
            self._json(self.cluster.create(plural, body), 201)

    def _create_token(self, audiences: list[str]) -> None:
        *_, namespace, _, account, _ = self.path.split("/")
        if (namespace, account) in self.cluster.readers:
            self._json({"status": {"token": f"{namespace}/{account} {audiences}"}}, 201)
        else:
            self._status(403, "Forbidden", f'serviceaccounts "{account}" is forbidden', name=account)

    def do_PATCH(self) -> None:
        operations: Any = self._body()
        *_, plural, name = self.path.partition("?")[0].split("/")
        self.cluster.patches.append((name, operations))
        try:
            changed = json_patch.apply(self.cluster.objects[plural][name], operations)
        except json_patch.PatchError as error:
            self._status(422, "Invalid", str(error))
            return
        self._json(self.cluster.put(plural, changed))

    def do_DELETE(self) -> None:
        uid = self._body()["preconditions"]["uid"]
        *_, plural, name = self.path.split("/")
        item = self.cluster.objects[plural].get(name)
        if item is None or item["metadata"]["uid"] != uid:
            self._status(404 if item is None else 409, "NotFound" if item is None else "Conflict", name, name=name)
        elif item["metadata"].get("finalizers"):
            metadata = {**item["metadata"], "deletionTimestamp": "2026-11-22T10:02:00Z"}
            self._json(self.cluster.put(plural, {**item, "metadata": metadata}))
        else:
            self.cluster.delete(plural, name)
            self._json({"kind": "Status", "status": "Success"})

    def _body(self) -> Object:
        self.cluster.record(self.path)
        document: Object = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return document

    def _api(self, path: str, query: Mapping[str, str]) -> None:
        segments = [unquote(each) for each in path.split("/") if each]
        plural = next((each for each in segments if each in PLURALS), "")
        if segments == ["api", "v1", "namespaces"]:
            self._json({"metadata": {}, "items": [{"metadata": {"name": NAMESPACE, "uid": "n"}}]})
            return
        rest = segments[segments.index(plural) + 1 :] if plural else []
        if not plural:
            self._status(404, "NotFound", "the server could not find the requested resource")
        elif plural in self.cluster.forbidden:
            self._status(403, "Forbidden", f"{plural} is forbidden")
        elif plural in self.cluster.rejected:
            self._status(400, "BadRequest", self.cluster.rejected[plural])
        elif rest[1:] == ["log"]:
            self._log(rest[0], query)
        elif rest:
            item = self.cluster.objects[plural].get(rest[0])
            if item is None:
                self._status(404, "NotFound", f'{plural} "{rest[0]}" not found', name=rest[0])
            else:
                self._json(item)
        elif query.get("watch") == "true":
            self._watch(plural, query)
        else:
            with self.cluster.changed:
                items = [item for item in self.cluster.objects[plural].values() if _matches(item, query)]
                self._json({"metadata": {"resourceVersion": str(self.cluster.version())}, "items": items})

    def _watch(self, plural: str, query: Mapping[str, str]) -> None:
        version = int(query["resourceVersion"])
        self._begin("application/json")
        with self.cluster.changed:
            while not self.cluster.closing:
                for at, changed, kind, item in self.cluster.changes(version):
                    version = at
                    if changed == plural and _matches(item, query):
                        self._chunk(f"{json.dumps({'type': kind, 'object': item})}\n")
                self.cluster.changed.wait(timeout=1.0)

    def _log(self, pod: str, query: Mapping[str, str]) -> None:
        log = self.cluster.logs.get(pod)
        if log is None or pod not in self.cluster.objects["pods"]:
            self._status(404, "NotFound", f'pods "{pod}" not found', name=pod)
            return
        since, tail = query.get("sinceTime", "")[:19], query.get("tailLines")
        lines = [line for line in log.lines if line[:19] >= since]
        self.cluster.open_logs += 1
        self.cluster.most_open_logs = max(self.cluster.most_open_logs, self.cluster.open_logs)
        self._begin("text/plain")
        for line in lines if tail is None else lines[len(lines) - int(tail) :]:
            self._chunk(f"{line}\n")
        if query.get("follow") == "true":
            self._follow(log)
        self.cluster.open_logs -= 1
        self._end()

    def _follow(self, log: ContainerLog) -> None:
        sent = len(log.lines)
        with self.cluster.changed:
            while not self.cluster.closing:
                for line in log.lines[sent:]:
                    self._chunk(f"{line}\n")
                sent = len(log.lines)
                if not log.open:
                    return
                if log.breaks:
                    log.breaks -= 1
                    return
                self.cluster.changed.wait(timeout=1.0)

    def _archive(self, parts: list[str], query: Mapping[str, str]) -> None:
        cluster = self.cluster
        if cluster.archive_away:
            self._status(503, "ServiceUnavailable", "no endpoints available for service")
            return
        tokens = {f"Bearer {namespace}/{account} ['torpor-archive']" for namespace, account in cluster.readers}
        assert self.headers["Torpor-Authorization"] in tokens
        match parts:
            case ["namespaces", _, "runs"]:
                runs = [run[0] for run in cluster.archived_runs.values()]
                named = [run for run in runs if query.get("name") in {None, run["metadata"]["name"]}]
                items = [_entry(run) for run in named if _matches(run, {"labelSelector": query.get("labels", "")})]
                self._json({"items": items})
            case ["namespaces", _, "runs", uid] if uid in cluster.archived_runs:
                self._text("".join(f"{json.dumps(item)}\n" for item in cluster.archived_runs[uid]))
            case ["namespaces", _, "runs", _, "logs"]:
                first = int(query.get("continue", "0"))
                container = query.get("container", "main")
                logs = [log.item for log in cluster.archived_logs if log.item.get("container", "main") == container]
                page: Object = {"items": logs[first : first + PAGE]}
                if first + PAGE < len(logs):
                    page["continue"] = str(first + PAGE)
                self._json(page)
            case ["namespaces", _, "logs", identifier]:
                log = next(log for log in cluster.archived_logs if str(log.item["id"]) == identifier)
                self._text("".join(f"{line}\n" for line in log.lines))
            case ["namespaces", _, "files", _, name, digest] if (name, digest) in cluster.files:
                self._bytes(cluster.files[name, digest])
            case ["namespaces", _, "results", uid, digest] if (uid, digest) in cluster.results:
                self._bytes(cluster.results[uid, digest])
            case _:
                self._json({"reason": "NotFound", "message": f"the archive has no {'/'.join(parts)}"}, 404)

    def _status(self, code: int, reason: str, message: str, name: str = "") -> None:
        details = {"details": {"name": name}} if name else {}
        self._json({"kind": "Status", "code": code, "reason": reason, "message": message, **details}, code)

    def _json(self, body: Any, code: int = 200) -> None:
        self._bytes(json.dumps(body).encode(), code, "application/json")

    def _text(self, body: str) -> None:
        self._bytes(body.encode(), 200, "text/plain")

    def _bytes(self, body: bytes, code: int = 200, kind: str = "application/octet-stream") -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, text: str) -> None:
        body = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def _entry(workflow: Object) -> Object:
    metadata = workflow["metadata"]
    entry = {"namespace": NAMESPACE, "uid": metadata["uid"], "name": metadata["name"], "state": "Succeeded"}
    return entry | {"labels": metadata.get("labels", {})}


def _matches(item: Object, query: Mapping[str, str]) -> bool:
    labels = item["metadata"].get("labels", {})
    for each in filter(None, query.get("labelSelector", "").split(",")):
        key, _, value = each.partition("=")
        if labels.get(key) != value:
            return False
    for each in filter(None, query.get("fieldSelector", "").split(",")):
        path, _, value = each.partition("=")
        field_value: Any = item
        for part in path.split("."):
            field_value = (field_value or {}).get(part)
        if field_value != value:
            return False
    return True

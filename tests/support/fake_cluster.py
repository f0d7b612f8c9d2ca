"""An API server and an archive behind its service proxy, over real HTTP on loopback, as the command torpor sees them.

Objects are plain dictionaries. Logs of pods can be appended to while they are followed.
"""

import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from torpor_wire import constants, names

Object = dict[str, Any]
_GROUP = f"/apis/{constants.GROUP}/{constants.VERSION}/namespaces/"
_PLURALS = ("workflows", "taskruns", "pods", "events", "configmaps")
_PROXY = "/api/v1/namespaces/torpor-system/services/https:torpor-archive:8443/proxy/v1/"
NAMESPACE = "team"
PAGE = 2
"""Items of a page of the archive's list of logs."""


@dataclass(slots=True)
class PodLog:
    """The lines of a container, each with its timestamp. `open`: the container still runs."""

    lines: list[str] = field(default_factory=list)
    open: bool = False
    breaks: int = 0
    """Requests with follow that end although the container runs."""


@dataclass(slots=True)
class ArchivedLog:
    """An item of the archive's list of logs, and its lines."""

    item: Object
    lines: list[str] = field(default_factory=list)


class FakeCluster:
    """The state that the server shows. Methods may be called while requests are served."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Object]] = {plural: {} for plural in _PLURALS}
        self.logs: dict[str, PodLog] = {}
        self.archived_runs: dict[str, list[Object]] = {}
        self.archived_logs: list[ArchivedLog] = []
        self.results: dict[tuple[str, str], bytes] = {}
        self.archive_away = False
        self.forbidden: set[str] = set()
        self.requests: list[str] = []
        self.changed = threading.Condition()
        self.closing = False
        self.open_logs = 0
        self.most_open_logs = 0
        self._changes: list[tuple[str, str, Object]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"cluster": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def kubeconfig(self, folder: Path) -> Path:
        """A kubeconfig of a user with a token, in namespace NAMESPACE."""
        path = folder / "kubeconfig"
        content = {
            "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": f"http://127.0.0.1:{self._server.server_port}"}}],
            "users": [{"name": "ann", "user": {"token": "t0ken"}}],
            "contexts": [
                {"name": "fake", "context": {"cluster": "fake", "user": "ann", "namespace": NAMESPACE}},
            ],
        }
        path.write_text(json.dumps(content))
        return path

    def put(self, plural: str, item: Object) -> Object:
        """Create or replace an object; watches see it."""
        with self.changed:
            kind = "MODIFIED" if item["metadata"]["name"] in self.objects[plural] else "ADDED"
            self._changes.append((plural, kind, item))
            item["metadata"]["resourceVersion"] = str(len(self._changes))
            self.objects[plural][item["metadata"]["name"]] = item
            self.changed.notify_all()
        return item

    def delete(self, plural: str, name: str) -> None:
        with self.changed:
            item = self.objects[plural].pop(name)
            self._changes.append((plural, "DELETED", item))
            self.changed.notify_all()

    def write(self, pod: str, *lines: str) -> None:
        """Append lines to the log of a pod."""
        with self.changed:
            self.logs.setdefault(pod, PodLog(open=True)).lines.extend(lines)
            self.changed.notify_all()

    def end(self, pod: str) -> None:
        """End the container of a pod."""
        with self.changed:
            self.logs[pod].open = False
            self.changed.notify_all()

    def workflow(self, name: str, *tasks: str, state: str = "Running", **status: Any) -> Object:
        """A Workflow with these tasks."""
        metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
        metadata["creationTimestamp"] = "2026-11-22T10:00:00Z"
        spec = {"tasks": [{"name": task, "python": f"m:{task}"} for task in tasks]}
        body = {"metadata": metadata, "spec": spec, "status": {"state": state, **status}}
        return self.put("workflows", {"apiVersion": constants.API_VERSION, "kind": "Workflow", **body})

    def taskrun(self, run: str, task: str, *path: int, state: str = "Succeeded", **status: Any) -> Object:
        """A TaskRun of a Workflow; an index makes it a mapped one."""
        body = taskrun(run, task, *path, state=state, **status)
        return self.put("taskruns", body)

    def pod(self, one: Object, attempt: int = 1, segment: int = 0, *, started: str, ended: str | None = None) -> str:
        """A pod of a TaskRun, whose container runs or has ended. Returns its name."""
        name = names.pod(one["metadata"]["name"], attempt, segment, 0)
        ran = {"startedAt": started, "finishedAt": ended} if ended else {"startedAt": started}
        state = {"terminated": ran} if ended else {"running": ran}
        labels = {**one["metadata"]["labels"], constants.LABEL_TASKRUN_UID: one["metadata"]["uid"]}
        spec = one["spec"]
        labels[constants.LABEL_INDEX] = str(spec.get("mapIndex", "unmapped"))
        metadata = {"name": name, "namespace": NAMESPACE, "uid": str(uuid.uuid4()), "labels": labels}
        owner = {"kind": "TaskRun", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"], "controller": True}
        metadata |= {"creationTimestamp": "2026-11-22T10:00:01Z", "ownerReferences": [owner]}
        status = {"phase": "Succeeded" if ended else "Running", "containerStatuses": [{"name": "main", "state": state}]}
        self.put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status})
        with self.changed:
            self.logs.setdefault(name, PodLog()).open = ended is None
            self.changed.notify_all()
        return name

    def archive_log(self, task: str, *path: int, lines: list[str], **fields: Any) -> Object:
        """A log that the archive has."""
        index = path[0] if path else constants.UNMAPPED
        numbers = {"attempt": 1, "segment": 0, "launch": 0}
        item = {"id": f"log-{len(self.archived_logs)}", "task": task, "mapIndex": index, "groupIndexes": [], **numbers}
        item |= {"kind": "pod", "state": "Kept", "started": "2026-11-22T10:00:02Z", **fields}
        self.archived_logs.append(ArchivedLog(item, lines))
        return item

    def archive_run(self, *objects: Object) -> None:
        """A run that only the archive has."""
        self.archived_runs[objects[0]["metadata"]["uid"]] = list(objects)

    def version(self) -> int:
        return len(self._changes)

    def changes(self, version: int) -> list[tuple[int, str, str, Object]]:
        return [(at, *change) for at, change in enumerate(self._changes[version:], start=version + 1)]


def taskrun(run: str, task: str, *path: int, state: str = "Succeeded", **status: Any) -> Object:
    """The JSON of a TaskRun."""
    index = path[0] if path else constants.UNMAPPED
    name = names.taskrun(run, f"uid-{run}", task, index)
    labels = {constants.LABEL_WORKFLOW: run, constants.LABEL_TASK: names.label(task)}
    metadata: Object = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "labels": labels}
    metadata["ownerReferences"] = [{"kind": "Workflow", "name": run, "uid": f"uid-{run}"}]
    metadata["creationTimestamp"] = "2026-11-22T10:00:00Z"
    spec: Object = {"workflow": {"name": run, "uid": f"uid-{run}"}, "task": task}
    if path:
        spec["mapIndex"] = index
    body = {"metadata": metadata, "spec": spec, "status": {"state": state, "attempt": 1, **status}}
    return {"apiVersion": constants.API_VERSION, "kind": "TaskRun", **body}


class _Handler(BaseHTTPRequestHandler):
    cluster: FakeCluster
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.cluster.requests.append(self.path)
        if parts.path.startswith(_PROXY):
            self._archive(parts.path.removeprefix(_PROXY).split("/"), query)
        else:
            self._api(parts.path, query)

    def _api(self, path: str, query: Mapping[str, str]) -> None:
        segments = [unquote(each) for each in path.split("/") if each]
        plural = next((each for each in segments if each in _PLURALS), "")
        rest = segments[segments.index(plural) + 1 :] if plural else []
        if not plural:
            self._status(404, "NotFound", "the server could not find the requested resource")
        elif plural in self.cluster.forbidden:
            self._status(403, "Forbidden", f"{plural} is forbidden")
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

    def _follow(self, log: PodLog) -> None:
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
        assert self.headers["Torpor-Authorization"] == "Bearer t0ken"
        match parts:
            case ["namespaces", _, "runs"]:
                found = [run[0] for run in cluster.archived_runs.values()]
                items = [_entry(run) for run in found if query.get("name") in {None, run["metadata"]["name"]}]
                self._json({"items": items})
            case ["namespaces", _, "runs", uid] if uid in cluster.archived_runs:
                self._text("".join(f"{json.dumps(item)}\n" for item in cluster.archived_runs[uid]))
            case ["namespaces", _, "runs", _, "logs"]:
                first = int(query.get("continue", "0"))
                page: Object = {"items": [log.item for log in cluster.archived_logs[first : first + PAGE]]}
                if first + PAGE < len(cluster.archived_logs):
                    page["continue"] = str(first + PAGE)
                self._json(page)
            case ["namespaces", _, "logs", identifier]:
                log = next(log for log in cluster.archived_logs if str(log.item["id"]) == identifier)
                self._text("".join(f"{line}\n" for line in log.lines))
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
    return {"namespace": NAMESPACE, "uid": metadata["uid"], "name": metadata["name"], "state": "Succeeded"}


def _matches(item: Object, query: Mapping[str, str]) -> bool:
    labels = item["metadata"].get("labels", {})
    for each in filter(None, query.get("labelSelector", "").split(",")):
        key, _, value = each.partition("=")
        if labels.get(key) != value:
            return False
    for each in filter(None, query.get("fieldSelector", "").split(",")):
        path, _, value = each.partition("=")
        found: Any = item
        for part in path.split("."):
            found = (found or {}).get(part)
        if found != value:
            return False
    return True


@contextmanager
def fake_cluster() -> Iterator[FakeCluster]:
    """A cluster for as long as the block lasts."""
    cluster = FakeCluster()
    try:
        yield cluster
    finally:
        cluster.close()


Run = Callable[..., tuple[int, str, str]]
"""Runs torpor with arguments: exit code, standard output, standard error."""

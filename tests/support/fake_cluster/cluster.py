"""The state that the server shows, and the verbs of a test. Methods may be called while requests are served."""

import json
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from torpor_wire import constants, names

from tests.support.fake_cluster.handler import PLURALS, Handler
from tests.support.fake_cluster.objects import NAMESPACE, ArchivedLog, ContainerLog, Object, taskrun


class _Server(ThreadingHTTPServer):
    """A server whose clients may close a connection at any time. By default, it prints that to standard error.

    A busy machine does so while the next command of a test runs, whose standard error the test compares.
    """

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class FakeCluster:
    """The state that the server shows. Methods may be called while requests are served."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Object]] = {plural: {} for plural in PLURALS}
        self.logs: dict[str, ContainerLog] = {}
        self.archived_runs: dict[str, list[Object]] = {}
        self.archived_logs: list[ArchivedLog] = []
        self.results: dict[tuple[str, str], bytes] = {}
        self.files: dict[tuple[str, str], bytes] = {}
        self.archive_away = False
        self.readers = {(NAMESPACE, constants.ARCHIVE_READER), ("torpor-system", "torpor-reader")}
        """The ServiceAccounts of which the user may create tokens."""
        self.forbidden: set[str] = set()
        self.rejected: dict[str, str] = {}
        self.requests: list[str] = []
        self.patches: list[tuple[str, list[Object]]] = []
        """The JSON Patches that were sent, with the name of their object."""
        self.changed = threading.Condition()
        self.closing = False
        self.open_logs = 0
        self.most_open_logs = 0
        self._changes: list[tuple[str, str, Object]] = []
        self._server = _Server(("127.0.0.1", 0), type("Handler", (Handler,), {"cluster": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def record(self, path: str) -> None:
        """Note a request, and wake those that wait for one."""
        with self.changed:
            self.requests.append(path)
            self.changed.notify_all()

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

    def create(self, plural: str, body: Object) -> Object:
        """Store what a client creates, with the name that it generates."""
        metadata = body["metadata"]
        name = metadata.get("name") or f"{metadata['generateName']}x{len(self._changes)}"
        generated = {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-11-22T10:00:00Z",
        }
        return self.put(plural, {**body, "metadata": {**metadata, **generated}})

    def delete(self, plural: str, name: str) -> None:
        with self.changed:
            item = self.objects[plural].pop(name)
            self._changes.append((plural, "DELETED", item))
            self.changed.notify_all()

    def write(self, pod: str, *lines: str) -> None:
        """Append lines to the log of a pod."""
        with self.changed:
            self.logs.setdefault(pod, ContainerLog(open=True)).lines.extend(lines)
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

    def schedule(self, name: str, *sources: Object, spec: Object | None = None, **status: Any) -> Object:
        """A Schedule with these sources, by default `nightly` at 02:00 UTC, and the template `ingest`."""
        given = list(sources) or [{"name": "nightly", "cron": "0 2 * * *"}]
        body = {"spec": {"sources": given, "templateRef": {"name": "ingest"}, **(spec or {})}, "status": status}
        return self._kind("schedules", "Schedule", name, body)

    def template(self, name: str, *params: Object, spec: Object | None = None) -> Object:
        """A WorkflowTemplate with these params, and one task."""
        workflow = {"tasks": [{"name": "a", "python": "m:f"}], **(spec or {})}
        return self._kind(
            "workflowtemplates", "WorkflowTemplate", name, {"spec": {"params": params, "workflow": workflow}}
        )

    def backfill(self, name: str, schedule: str, *, spec: Object | None = None, **status: Any) -> Object:
        """A Backfill of a Schedule for the first three days of November."""
        period = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-04T00:00:00Z", "rerun": "missing", "concurrency": 1}
        body = {"spec": {"schedule": schedule, **period, **(spec or {})}, "status": status}
        return self._kind("backfills", "Backfill", name, body)

    def run_of(self, schedule: str, name: str, at: str, **status: Any) -> Object:
        """A run of a Schedule: of the source `nightly` at this time."""
        workflow = self.workflow(name, "a", **status)
        workflow["metadata"]["labels"] = {constants.LABEL_SCHEDULE: schedule}
        workflow["spec"]["runOf"] = {"schedule": schedule, "uid": f"uid-{schedule}", "source": "nightly", "at": at}
        return self.put("workflows", workflow)

    def _kind(self, plural: str, kind: str, name: str, body: Object) -> Object:
        metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
        metadata["creationTimestamp"] = "2026-11-22T10:00:00Z"
        return self.put(plural, {"apiVersion": constants.API_VERSION, "kind": kind, "metadata": metadata, **body})

    def taskrun(self, run: str, task: str, *path: int, state: str = "Succeeded", **status: Any) -> Object:
        """A TaskRun of a Workflow; an index makes it a mapped one."""
        body = taskrun(run, task, *path, state=state, **status)
        return self.put("taskruns", body)

    def pod(
        self, taskrun: Object, attempt: int = 1, segment: int = 0, *, started: str, ended: str | None = None
    ) -> str:
        """A pod of a TaskRun, whose container runs or has ended. Returns its name."""
        name = names.pod(taskrun["metadata"]["name"], attempt, segment, 0)
        ran = {"startedAt": started, "finishedAt": ended} if ended else {"startedAt": started}
        state = {"terminated": ran} if ended else {"running": ran}
        labels = {**taskrun["metadata"]["labels"], constants.LABEL_TASKRUN_UID: taskrun["metadata"]["uid"]}
        spec = taskrun["spec"]
        labels[constants.LABEL_INDEX] = str(spec.get("mapIndex", "unmapped"))
        metadata = {"name": name, "namespace": NAMESPACE, "uid": str(uuid.uuid4()), "labels": labels}
        owner = {
            "kind": "TaskRun",
            "name": taskrun["metadata"]["name"],
            "uid": taskrun["metadata"]["uid"],
            "controller": True,
        }
        metadata |= {"creationTimestamp": "2026-11-22T10:00:01Z", "ownerReferences": [owner]}
        status = {"phase": "Succeeded" if ended else "Running", "containerStatuses": [{"name": "main", "state": state}]}
        self.put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status})
        with self.changed:
            self.logs.setdefault(name, ContainerLog()).open = ended is None
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

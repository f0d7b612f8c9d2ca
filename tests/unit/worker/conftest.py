"""A fake of the API server, one TaskRun in it, and a pod that runs it in this process.

The fake knows what the worker relies on: `test` operations, all or nothing, nulls pruned, and answers that get lost
before or after the write was stored.
"""

import copy
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from torpor import Context
from torpor.runtime import main
from torpor.runtime.archive.client import ArchiveConnection
from torpor.runtime.environment import Launch
from torpor.runtime.http import ApiResponse, UnclearError
from torpor_local.apiserver import json_patch
from torpor_wire import names, times

from tests.support.fake_archive import FakeArchive

NOW = 1_700_000_000.0
CREATED = "2023-11-14T22:13:00Z"
ApiFault = Callable[[Callable[[], ApiResponse]], ApiResponse]


def lost_before(_write: Callable[[], ApiResponse]) -> ApiResponse:
    raise UnclearError("connection reset")


def lost_after(write: Callable[[], ApiResponse]) -> ApiResponse:
    write()
    raise UnclearError("timed out")


def answered(status: int, **body: Any) -> ApiFault:
    return lambda _write: ApiResponse(status, {"kind": "Status", **body})


class TaskRunApi:
    """TaskRuns by name, the requests that came, and the faults of the next patches."""

    def __init__(self) -> None:
        self.taskruns: dict[str, Any] = {}
        self.requests: list[tuple[str, str]] = []
        self.patches: list[list[dict[str, Any]]] = []
        self.patch_faults: list[ApiFault] = []
        self.read_faults: list[ApiFault] = []
        self.begun = 0
        self.archive_url: str | None = None
        self.archive: Callable[[Launch], ArchiveConnection | None] = lambda _launch: None
        self.nonces = map("nonce-{}".format, itertools.count(1))
        self.clock = NOW

    def __call__(self, method: str, path: str, body: Any = None) -> ApiResponse:
        self.requests.append((method, path))
        name = path.removesuffix("/status").rpartition("/")[2]
        if method == "GET":
            return self._with_fault(self.read_faults, partial(self._get, name))
        self.patches.append(body)
        return self._with_fault(self.patch_faults, partial(self._patch, name, body))

    def _with_fault(self, faults: list[ApiFault], act: Callable[[], ApiResponse]) -> ApiResponse:
        return faults.pop(0)(act) if faults else act()

    def _get(self, name: str) -> ApiResponse:
        taskrun = self.taskruns.get(name)
        return ApiResponse(404, {"kind": "Status"}) if taskrun is None else ApiResponse(200, copy.deepcopy(taskrun))

    def _patch(self, name: str, patch: list[dict[str, Any]]) -> ApiResponse:
        copied = copy.deepcopy(self.taskruns.get(name))
        if copied is None:
            return ApiResponse(404, {"kind": "Status"})
        try:
            copied = json_patch.apply(copied, patch)
        except json_patch.PatchError:
            return ApiResponse(422, {"kind": "Status", "message": "the server rejected our request"})
        copied["status"] = {key: value for key, value in copied["status"].items() if value is not None}
        self.taskruns[name] = copied
        return ApiResponse(200, copy.deepcopy(copied))

    def world(self) -> main.RuntimeEnvironment:
        def sleep(seconds: float) -> None:
            self.clock += seconds

        def begin() -> None:
            self.begun += 1

        return main.RuntimeEnvironment(
            transport=self,
            now=lambda: self.clock,
            monotonic=lambda: self.clock,
            sleep=sleep,
            jitter=lambda: 0.5,
            begin=begin,
            end=lambda: False,
            archive=self.archive,
        )


class TaskPod:
    """One TaskRun and the pods that are started for it."""

    def __init__(self, cluster: TaskRunApi, python: str, spec: dict[str, Any]) -> None:
        self.cluster = cluster
        self.name = names.taskrun("ingest", "workflow-uid", "load")
        workflow = {"name": "ingest", "uid": "workflow-uid"}
        cluster.taskruns[self.name] = {
            "metadata": {"name": self.name, "uid": "taskrun-uid", "creationTimestamp": CREATED},
            "spec": {"workflow": workflow, "task": "load", "python": python, "image": "ingest:1.4", **spec},
            "status": {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0, "history": []},
        }

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.cluster.taskruns[self.name]["status"]
        return status

    def launch(self) -> Launch:
        status = self.status
        numbers = status["attempt"], status["segment"], status["launch"]
        return Launch(
            archive_url=self.cluster.archive_url,
            namespace="default",
            taskrun=self.name,
            uid="taskrun-uid",
            created=CREATED,
            attempt=numbers[0],
            segment=numbers[1],
            launch=numbers[2],
            started=status.get("startedAt"),
            pod=names.pod(self.name, *numbers),
            pod_uid="pod-uid",
            nonce=next(self.cluster.nonces),
        )

    def run(self, launch: Launch | None = None) -> int:
        return main.run(self.cluster.world(), launch or self.launch())

    def defer_first(self) -> None:
        """The operator's edge for a wait that comes before the first pod."""
        self.status.update(state="Deferred", trigger={}, startedAt=times.rfc3339(self.cluster.clock))

    def fire(self, event: Any) -> None:
        self._resume({"event": json.dumps(event)})

    def time_out(self) -> None:
        assert "onTimeout" in self.status["next"]
        self._resume({"timedOut": True})

    def _resume(self, sets: dict[str, Any]) -> None:
        status = self.status
        assert status["state"] == "Deferred"
        for gone in ("trigger", "pod", "deadline"):
            status.pop(gone, None)
        self.cluster.clock += 100
        deferred = status.get("deferredSeconds", 0) + 100
        status.update(state="Scheduled", segment=status["segment"] + 1, deferredSeconds=deferred, **sets)

    def at(self, field: str) -> float:
        return times.epoch(self.status[field])


def module_of(pod: TaskPod) -> Any:
    """The module of a pod's task, once it has run."""
    python: str = pod.cluster.taskruns[pod.name]["spec"]["python"]
    return sys.modules[python.partition(":")[0]]


@pytest.fixture
def context() -> Context:
    return Context(
        namespace="default",
        workflow="ingest",
        task="load",
        map_index=-1,
        attempt=1,
        segment=0,
        taskrun="ingest-load-abcde",
        uid="taskrun-uid",
    )


@pytest.fixture
def cluster() -> TaskRunApi:
    return TaskRunApi()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Writes a module that a task's author might have written, and returns its name."""
    names: list[str] = []
    monkeypatch.syspath_prepend(tmp_path)

    def write(source: str) -> str:
        name = f"authored_{len(names)}"
        (tmp_path / f"{name}.py").write_text(source)
        names.append(name)
        return name

    yield write
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def task(cluster: TaskRunApi, module: Callable[[str], str]) -> Callable[..., TaskPod]:
    """A TaskRun of the function or class `load` in the given source, with arguments as keywords."""

    def make(source: str, *, spec: dict[str, Any] | None = None, name: str = "load", **arguments: Any) -> TaskPod:
        values = [{"name": key, "value": json.dumps(value)} for key, value in arguments.items()]
        return TaskPod(cluster, f"{module(source)}:{name}", {"arguments": values} | (spec or {}))

    return make


@pytest.fixture
def upstream(cluster: TaskRunApi) -> Callable[..., None]:
    """Stores the TaskRun of another task with its result."""

    def store(  # noqa: PLR0913 - one keyword for each thing that matters in a TaskRun
        result: Any,
        *,
        index: int = -1,
        groups: tuple[int, ...] = (),
        state: str = "Succeeded",
        workflow_uid: str = "workflow-uid",
        stored: Any = None,
    ) -> None:
        outcome = {} if result is None else {"result": json.dumps(result)}
        outcome |= {} if stored is None else {"stored": stored}
        name = names.taskrun("ingest", "workflow-uid", "list", index, groups)
        cluster.taskruns[name] = {
            "metadata": {"name": name, "uid": f"uid-{index}"},
            "spec": {"workflow": {"name": "ingest", "uid": workflow_uid}, "task": "list"},
            "status": {"state": state, **outcome},
        }

    return store


@pytest.fixture
def referring(task: Callable[..., TaskPod]) -> Callable[..., TaskPod]:
    """A task whose argument `value` is a result of the task `list`."""

    def make(
        field: str, count: int = 1, source: str = "def load(value): return value", mapped_by: str = "", **more: Any
    ) -> TaskPod:
        argument = {"name": "value", "from": {"task": "list", "field": field, "count": count, **more}}
        pod = task(source, spec={"arguments": [argument]})
        if mapped_by:
            spec = pod.cluster.taskruns[pod.name]["spec"]
            argument["map"] = f"{spec['python'].partition(':')[0]}:{mapped_by}"
        return pod

    return make


@pytest.fixture
def archive(cluster: TaskRunApi) -> Iterator[FakeArchive]:
    """An archive whose address the pods of the cluster get."""
    server = FakeArchive()
    cluster.archive_url = "https://archive"
    cluster.archive = lambda launch: server.client(launch.taskrun)
    yield server
    server.close()


class ApiFaults:
    """Faults of a request."""

    before = staticmethod(lost_before)
    after = staticmethod(lost_after)
    answered = staticmethod(answered)


@pytest.fixture
def api_faults() -> type[ApiFaults]:
    return ApiFaults

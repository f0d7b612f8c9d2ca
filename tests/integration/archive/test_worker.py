"""Real workers exchange results through the archive, each with its own pod's tokens."""

import json
import os
import subprocess
import sys
import uuid
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from torpor_wire import constants, names
from torpor_wire.runtime_variable import RuntimeVariable

from tests.integration.archive.process import ArchiveProcess
from tests.integration.conftest import Server, collection
from tests.integration.policies.transitions.conftest import create_pod
from tests.support.manifests import manifest

_WORKER = Path(__file__).resolve().parents[1] / "controller/in_pod.py"
_AUTHORED = """
import pathlib, tempfile
from torpor import context

def rows(): return ["x" * 997] * 1000 + [context().map_index]
def inner(): return ["x" * 997] * 20 + [*context().group_indexes, context().map_index]
def gather(inner): return [[row[20:] for row in inner], inner.positions, inner.missing]
def table(): return {"first": "x" * 9000, "second": [1.0, None]}
def raw(): return bytes(range(256)) * 1000
def file():
    path = pathlib.Path(tempfile.mkdtemp()) / "brød.csv"
    path.write_text("a;b")
    return path

def reduce(rows): return [len(rows), sum(len(row) for row in rows), [row[-1] for row in rows[::-1]], rows.missing]
def describe(value): return [type(value).__name__, value if isinstance(value, list) else len(value)]
def size(path): return [path.name, path.read_text()]
def second(pair): return {pair[0]: pair[1]}
def same(value): return value
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRun:
    """A Workflow without an operator: the test creates its TaskRuns and runs a worker for each."""

    server: Server
    archive: ArchiveProcess
    authority: str
    namespace: str
    folder: Path
    uid: str

    def task(
        self, task: str, *, index: int = constants.UNMAPPED, groups: tuple[int, ...] = (), **argument: Any
    ) -> dict[str, Any]:
        """Run a task and return its status. `argument` describes the argument of the function with its name."""
        name = names.taskrun("run", self.uid, task, index, groups)
        spec = {"workflow": {"name": "run", "uid": self.uid}, "task": task, "mapIndex": index, "image": "x"}
        spec |= {"groupIndexes": [*groups]}
        spec |= {"python": f"authored:{task}", "arguments": [_argument(**argument)] if argument else []}
        body = manifest("TaskRun", name, spec)
        made = self.server.create("taskruns", self.namespace, body).expect(201)
        self._work(made, create_pod(self.server, self.namespace, names.pod(name, 1, 0, 0)))
        path = f"{collection('taskruns', self.namespace)}/{name}"
        status: dict[str, Any] = self.server.request("GET", path).expect(200)["status"]
        return status

    def _work(self, made: dict[str, Any], pod: dict[str, Any]) -> None:
        credentials = self.folder / pod["metadata"]["name"]
        credentials.mkdir()
        for file, audience in (("token", None), (constants.ARCHIVE_TOKEN, constants.ARCHIVE_AUDIENCE)):
            token = self.server.token(self.namespace, "torpor-task", pod=pod, audience=audience)
            (credentials / file).write_text(token)
        (credentials / "ca.crt").write_text(self.authority)
        argv = [sys.executable, str(_WORKER), str(credentials)]
        done = subprocess.run(argv, env=self._environment(made), capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr

    def _environment(self, made: dict[str, Any]) -> dict[str, str]:
        address = urlsplit(self.server.url)
        return os.environ | {
            "PYTHONPATH": str(self.folder),
            "KUBERNETES_SERVICE_HOST": str(address.hostname),
            "KUBERNETES_SERVICE_PORT": str(address.port),
            constants.ENV_RUNTIME: RuntimeVariable(
                namespace=self.namespace,
                taskrun=made["metadata"]["name"],
                uid=made["metadata"]["uid"],
                created=made["metadata"]["creationTimestamp"],
                attempt=1,
                archive_url=self.archive.url,
                archive_namespace=self.archive.namespace,
            ).text(),
        }


def _argument(name: str, source: dict[str, Any], mapped_by: str | None = None) -> dict[str, Any]:
    return {"name": name, "from": source} | ({"map": mapped_by} if mapped_by else {})


@pytest.fixture
def run(server: Server, archive: ArchiveProcess, kubeconfig: Path, home: str, tmp_path: Path) -> WorkerRun:
    (tmp_path / "authored.py").write_text(_AUTHORED)
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    inline = cluster.get("certificate-authority-data")
    authority = (
        b64decode(inline).decode() if inline else (kubeconfig.parent / cluster["certificate-authority"]).read_text()
    )
    return WorkerRun(
        server=server, archive=archive, authority=authority, namespace=home, folder=tmp_path, uid=str(uuid.uuid4())
    )


def test_mapped_results_are_reduced_one_by_one(run: WorkerRun) -> None:
    for index in (0, 2):
        stored = run.task("rows", index=index)["stored"]
        assert (stored["type"], stored["length"]) == ("list", 1001)
    reduced = run.task("reduce", name="rows", source={"task": "rows", "field": "results", "count": 3})

    assert reduced["state"] == "Succeeded", reduced
    assert json.loads(reduced["result"]) == [2, 2002, [2, 0], [1]]


def test_results_within_groups_are_reduced_by_path(run: WorkerRun) -> None:
    for group_path, index in (((4, 0), 0), ((4, 0), 1), ((4, 1), 0)):
        assert run.task("inner", groups=group_path, index=index)["stored"]["size"] > constants.RESULT_MAX
    source = {"task": "inner", "field": "results", "groupIndexes": [4], "paths": "0-1.0-1", "mapped": True}
    reduced = run.task("gather", groups=(4,), name="inner", source=source)

    assert reduced["state"] == "Succeeded", reduced
    there = [[0, 0], [0, 1], [1, 0]]
    assert json.loads(reduced["result"]) == [[[4, *path] for path in there], there, [[1, 1]]]


@pytest.mark.parametrize(
    ("task", "stored", "expected"),
    [
        ("table", {"length": 2, "keys": '["first","second"]'}, ["dict", 2]),
        ("raw", {"size": 256_000}, ["bytes", 256_000]),
    ],
)
def test_the_next_pod_receives_the_result_with_its_type(
    run: WorkerRun, task: str, stored: dict[str, Any], expected: list[Any]
) -> None:
    assert run.task(task)["stored"].items() >= stored.items()
    ended = run.task("describe", name="value", source={"task": task, "field": "result"})

    assert json.loads(ended["result"]) == expected, ended


def test_the_next_pod_receives_a_file_with_its_name(run: WorkerRun) -> None:
    assert run.task("file")["stored"]["name"] == "brød.csv"
    ended = run.task("size", name="path", source={"task": "file", "field": "result"})

    assert json.loads(ended["result"]) == ["brød.csv", "a;b"], ended


def test_one_entry_is_downloaded_and_mapped(run: WorkerRun) -> None:
    run.task("table")
    source = {"task": "table", "field": "result", "item": 1}
    ended = run.task("same", name="value", mapped_by="authored:second", source=source)

    assert json.loads(ended["result"]) == {"second": [1.0, None]}, ended


def test_an_item_out_of_range_fails_the_task(run: WorkerRun) -> None:
    run.task("table")
    ended = run.task("same", name="value", source={"task": "table", "field": "result", "item": 2})

    assert (ended["state"], ended["reason"]) == ("Failed", "ArgumentsInvalid")
    assert "has 2 items, so there is no item 2" in ended["message"]

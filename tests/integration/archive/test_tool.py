"""torpor-tool uploads results of container tasks, with the token of the pod that the operator claimed."""

import hashlib
import json
import os
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torpor_crds.models.archive import StoredResult
from torpor_dev.offline import golang
from torpor_operator.taskrun.containers import CLAIMANT
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask
from tests.integration.archive.process import ArchiveProcess
from tests.integration.conftest import Server
from tests.integration.policies.transitions.conftest import create_pod, set_fields
from tests.support.manifests import manifest

_ROWS = [{"id": number, "text": f"ä{number}"} for number in range(2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContainer:
    """The container of a task with `tools: true`, as a process."""

    task: ArchiveTask
    archive: ArchiveProcess
    folder: Path

    @property
    def outcome(self) -> Any:
        return json.loads((self.folder / "outcome").read_text())

    def put(self, content: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "file").write_text(content)
        tool = str(golang.build(golang.TORPOR_TOOL))
        argv = [tool, "put", "--credentials", str(self.folder), *options, str(self.folder / "file")]
        given = self._environment() | environment
        return subprocess.run(argv, env=given, capture_output=True, text=True, check=False, timeout=300)

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            constants.ENV_NAMESPACE: self.task.namespace,
            constants.ENV_TASKRUN: self.task.name,
            constants.ENV_ARCHIVE_URL: self.archive.url,
            constants.ENV_ARCHIVE_CA: self.archive.authority(),
            "TORPOR_OUTCOME": str(self.folder / "outcome"),
            "TORPOR_OUTCOME_NONCE": "nonce",
        }


@pytest.fixture
def container(archive: ArchiveProcess, server: Server, home: str, tmp_path: Path) -> ToolContainer:
    task = _container_task(server, home)
    (tmp_path / constants.ARCHIVE_TOKEN).write_text(task.token)
    return ToolContainer(task=task, archive=archive, folder=tmp_path)


def _container_task(server: Server, namespace: str) -> ArchiveTask:
    """A Running container task. Its pod did not claim it: the operator did, before the pod was scheduled."""
    name, workflow = f"t-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    spec = {"workflow": {"name": "run", "uid": workflow}, "task": "task", "image": "x", "container": {"command": ["x"]}}
    body = manifest("TaskRun", name, spec)
    uid = server.create("taskruns", namespace, body).expect(201)["metadata"]["uid"]
    pod = create_pod(server, namespace, f"{name}-a1-s0")
    claimed = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": CLAIMANT}
    server.patch_status(namespace, name, set_fields(state="Running", pod=claimed)).expect(200)
    token = server.token(namespace, "torpor-task", pod=pod, audience=constants.ARCHIVE_AUDIENCE)
    return ArchiveTask(namespace=namespace, name=name, uid=uid, workflow=workflow, token=token)


def test_the_operator_stores_an_uploaded_outcome_and_the_archive_returns_it(
    container: ToolContainer, server: Server
) -> None:
    done = container.put(json.dumps(_ROWS, indent=1))
    assert (done.returncode, done.stderr) == (0, "")
    body = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in _ROWS).encode()
    archived = container.outcome["archived"]
    escaped = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in _ROWS).encode()
    assert archived == {
        "size": len(escaped),
        "digest": hashlib.sha256(escaped).hexdigest(),
        "type": "list",
        "length": 2000,
    }
    fetched = container.task.get(container.archive, container.task.address(archived["digest"])).expect(200)
    assert [json.loads(line) for line in fetched.body.splitlines()] == [json.loads(line) for line in body.splitlines()]
    StoredResult.model_validate(archived, strict=True)
    stored = set_fields(state="Succeeded", stored=archived)
    status = server.patch_status(container.task.namespace, container.task.name, stored).expect(200)["status"]
    assert status["stored"] == archived


@pytest.mark.parametrize(
    ("content", "kind", "more"),
    [
        ({"a": ["x" * 5000], "ä": None}, "object", {"length": 2, "keys": '["a","ä"]'}),
        ("x" * 5000, "string", {}),
    ],
)
def test_the_archive_describes_each_type(
    container: ToolContainer, content: object, kind: str, more: dict[str, object]
) -> None:
    assert container.put(json.dumps(content)).returncode == 0
    archived = container.outcome["archived"]
    assert {name: archived[name] for name in archived if name not in {"size", "digest"}} == {"type": kind, **more}


def test_a_text_becomes_a_string(container: ToolContainer) -> None:
    text = 'a "line"\n\ttab é\n' * 1000
    assert container.put(text, "--text").returncode == 0
    archived = container.outcome["archived"]
    fetched = container.task.get(container.archive, container.task.address(archived["digest"])).expect(200)
    assert json.loads(fetched.body) == text


def test_a_pod_without_the_claim_ends_with_its_exit_code_and_no_outcome(
    container: ToolContainer, server: Server
) -> None:
    server.patch_status(container.task.namespace, container.task.name, set_fields(state="UpForRetry")).expect(200)
    done = container.put(json.dumps(_ROWS))
    assert done.returncode == 77
    assert "UpForRetry; uploading a result requires Running" in done.stderr
    assert not (container.folder / "outcome").exists()


def test_what_the_archive_rejects_ends_with_its_message(container: ToolContainer) -> None:
    done = container.put('{"a": 1, "a": 2, "b": "' + "x" * 5000 + '"}')
    assert done.returncode == 65
    assert "key 'a' is duplicate" in done.stderr


def test_an_invalid_token_is_retried(container: ToolContainer) -> None:
    (container.folder / constants.ARCHIVE_TOKEN).write_text("expired")
    done = container.put(json.dumps(_ROWS), "--timeout", "5s")
    assert done.returncode == 69
    assert "retrying for 5s: HTTP 401" in done.stderr


def test_the_tests_of_the_tool_pass() -> None:
    words = ["test", "./..."]
    done = subprocess.run(
        [golang.ensure(), *words],
        cwd=golang.TORPOR_TOOL.module,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr

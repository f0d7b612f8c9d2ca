"""The results of steps: each is stored by its wrapper, and the operator lets the archive combine them."""

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torpor_operator.taskrun.containers import CLAIMANT
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.archive.test_tool import ToolContainer
from tests.integration.conftest import Server
from tests.integration.policies.transitions.conftest import create_pod, set_fields
from tests.support.manifests import manifest

STEPS = ("lines", "entries", "text")
ROWS = [{"id": number, "text": f"ä{number}"} for number in range(500)]
ENTRIES = {'a "key"': ["x" * 5000], "[": {"b": None}, "ü,": 1.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsPod:
    """A Running task with steps, in the archive's namespace."""

    container: ToolContainer
    operator: str

    def put(self, step: str, value: Any) -> Any:
        """Store a result as the wrapper of a step. Returns its description."""
        done = self.container.put(json.dumps(value, ensure_ascii=False), TORPOR_STEP=step)
        assert (done.returncode, done.stderr) == (0, "")
        return self.container.outcome["archived"]

    def combine(self, steps: list[dict[str, Any]], token: str = "", uid: str = "") -> ReplicaResponse:
        task = self.container.task
        path = f"/v1/namespaces/{task.namespace}/taskruns/{task.name}/steps"
        body = json.dumps({"uid": uid or task.uid, "steps": steps}).encode()
        return self.container.archive.request("POST", path, token or self.operator, body)


@pytest.fixture
def steps(archive: ArchiveProcess, server: Server, home: str, tmp_path: Path) -> StepsPod:
    name, workflow = f"t-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    program = {"steps": [{"name": step, "command": ["x"]} for step in STEPS]}
    spec = {"workflow": {"name": "run", "uid": workflow}, "task": "task", "image": "x", "container": program}
    uid = server.create("taskruns", home, manifest("TaskRun", name, spec)).expect(201)["metadata"]["uid"]
    pod = create_pod(server, home, f"{name}-a1-s0")
    claimed = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": CLAIMANT}
    server.patch_status(home, name, set_fields(state="Running", pod=claimed)).expect(200)
    token = server.token(home, "torpor-task", pod=pod, audience=constants.ARCHIVE_AUDIENCE)
    (tmp_path / constants.ARCHIVE_TOKEN).write_text(token)
    task = ArchiveTask(namespace=home, name=name, uid=uid, workflow=workflow, token=token)
    operator = server.token("torpor-system", "torpor-operator", audience=constants.ARCHIVE_AUDIENCE)
    return StepsPod(container=ToolContainer(task=task, archive=archive, folder=tmp_path), operator=operator)


def test_the_result_of_a_task_has_those_of_its_steps(steps: StepsPod) -> None:
    rows, entries = steps.put("lines", ROWS), steps.put("entries", ENTRIES)
    parts = [
        {"name": "lines", "digest": rows["digest"]},
        {"name": "entries", "digest": entries["digest"]},
        {"name": "text", "text": '"small"'},
    ]
    first, again = steps.combine(parts).expect(201).json, steps.combine(parts).expect(201).json
    assert first == again
    assert (first["type"], first["length"], json.loads(first["keys"])) == ("object", 3, list(STEPS))
    task = steps.container.task
    body = task.get(steps.container.archive, task.address(first["digest"])).expect(200).body
    assert dict(json.loads(line) for line in body.splitlines()) == {"lines": ROWS, "entries": ENTRIES, "text": "small"}


@pytest.mark.attack
def test_only_the_operator_combines_results_and_only_of_this_task(steps: StepsPod) -> None:
    stored = steps.put("lines", ROWS)
    part = {"name": "lines", "digest": stored["digest"]}
    assert steps.combine([part], token=steps.container.task.token).status == 403
    assert steps.combine([part], uid=str(uuid.uuid4())).status == 403
    assert steps.combine([part | {"name": "text"}]).status == 404  # the result of another step
    assert steps.combine([part | {"digest": "0" * 64}]).status == 404
    assert steps.combine([part] * 17).status == 400
    assert steps.combine([{"name": "lines", "text": "{"}]).status == 400


@pytest.mark.attack
def test_a_pod_stores_no_result_of_a_step_that_its_task_does_not_have(steps: StepsPod) -> None:
    done = steps.container.put(json.dumps(ROWS), TORPOR_STEP="other")
    assert done.returncode == 77
    assert "the task has no step 'other'; its steps: entries, lines, text" in done.stderr

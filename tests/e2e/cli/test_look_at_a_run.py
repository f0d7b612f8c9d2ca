"""torpor logs, timeline, result, why, waits and compare as processes, against one run and one that waits.

The user has the ClusterRole `view` in the namespace, and no more.
"""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import pytest_asyncio
import yaml
from torpor_demo.install import prepare
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Api
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import container, python, spec
from tests.e2e.support.rights import bind
from tests.e2e.support.stage import ClusterFixture

LIMIT_S = 300
LOAD = r"echo load $TORPOR_INDEX begins; sleep 1; printf 'clear \033[2J screen\n'; test $TORPOR_INDEX != 1"
RUN = spec(
    {"name": "drop", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}},
    container("list", "echo reading; echo '[1,2,3]' > /dev/termination-log", after=["drop"]),
    container("load", LOAD, expand=[{"name": "item", "over": "${tasks.list.result}"}]),
    python("pause", "wait", args={"length": "2s"}, after=["list"]),
    python("big", "pieces", args={"count": 500, "length": 50}),
    params={"day": "monday"},
)
ASK = spec(
    {"name": "ask", "trigger": {"class": "approval", "kwargs": {"question": "Deploy?"}}}, params={"day": "friday"}
)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What a process of torpor answered."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Torpor:
    """Runs torpor as a process, as the user of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "torpor_cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
        )

    def __call__(self, *arguments: str) -> CommandOutput:
        return finish(self.start(*arguments))


def finish(process: "subprocess.Popen[str]") -> CommandOutput:
    out, err = process.communicate(timeout=LIMIT_S)
    return CommandOutput(process.returncode, out, err)


@dataclass(frozen=True, slots=True)
class Scene:
    """A namespace with the run `ingest`, which has ended, and `deploy`, which waits for an approval."""

    torpor: Torpor
    stage: ClusterFixture
    followed: CommandOutput
    """What `torpor logs -f` printed while the run went on."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(api: Api, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    stage = ClusterFixture(api, f"e2e-{uuid.uuid4().hex[:8]}")
    prepare(kubectl, stage.namespace)
    torpor = Torpor(_viewer(kubectl, stage.namespace, tmp_path_factory.mktemp("viewer") / "kubeconfig"))
    await stage.start("deploy", ASK)
    await stage.start("ingest", RUN)
    following = torpor.start("logs", "ingest", "-f", "--timestamps")
    await stage.ended("ingest")
    followed = finish(following)
    await stage.reached("deploy", "ask", State.DEFERRED)
    yield Scene(torpor, stage, followed)
    kubectl.run("delete", "namespace", stage.namespace, "--wait=false")


def _viewer(kubectl: Kubectl, namespace: str, path: Path) -> Path:
    """A kubeconfig of a ServiceAccount that may view the namespace."""
    kubectl.run("-n", namespace, "create", "serviceaccount", "viewer")
    bind(kubectl, namespace, "view", user=f"system:serviceaccount:{namespace}:viewer", name="viewer")
    content: dict[str, Any] = yaml.safe_load(kubectl.run("config", "view", "--raw", "--minify"))
    token = kubectl.run("-n", namespace, "create", "token", "viewer").strip()
    content["users"] = [{"name": "viewer", "user": {"token": token}}]
    context = content["contexts"][0]["context"]
    context |= {"user": "viewer", "namespace": namespace}
    path.write_text(yaml.safe_dump(content))
    return path


def test_logs_follow_every_pod_until_the_run_ends(scene: Scene) -> None:
    said = scene.followed
    assert said.code == 0, said.err
    for number in range(3):
        mine = [line for line in said.lines if line.startswith(f"load[{number}] a1 s0 ")]
        assert [line.split(" ", 5)[-1] for line in mine] == [f"load {number} begins", r"clear \x1b[2J screen"]
    assert len([line for line in said.lines if line.endswith(" reading")]) == 1
    assert "\x1b" not in said.out


def test_logs_choose_by_task_index_and_failure(scene: Scene) -> None:
    assert {line.split(" ")[0] for line in scene.torpor("logs", "ingest/load").lines} == {
        f"load[{number}]" for number in range(3)
    }
    failed = scene.torpor("logs", "ingest", "--failed", "--no-prefix", "--tail", "2")
    assert failed.lines == ["load 1 begins", r"clear \x1b[2J screen"]


async def test_logs_of_pods_that_are_gone_come_from_the_archive(scene: Scene, kubectl: Kubectl) -> None:
    async def kept() -> bool | None:
        said = scene.torpor("logs", "ingest", "--timestamps")
        return True if said.code == 0 and not said.err else None

    before = scene.torpor("logs", "ingest", "--timestamps", "-o", "json")
    kubectl.run("-n", scene.stage.namespace, "delete", "pods", "--all", "--wait=true")
    await scene.stage.until(kept, LIMIT_S, "the archive to keep all logs")
    assert _objects(scene.torpor("logs", "ingest", "-o", "json")) == _objects(before)


def test_the_timeline_is_a_chart_and_a_picture(scene: Scene) -> None:
    said = scene.torpor("timeline", "ingest")
    assert said.code == 0, said.err
    assert said.lines[0].startswith("ingest  Failed  ")
    assert "░" in next(line for line in said.lines if line.startswith("drop"))
    assert "█" in next(line for line in said.lines if line.startswith("load/0"))
    assert ET.fromstring(scene.torpor("timeline", "ingest", "-o", "svg").out).tag.endswith("svg")


def test_results_of_any_size_are_printed_and_saved(scene: Scene, tmp_path: Path) -> None:
    assert json.loads(scene.torpor("result", "ingest/list").out) == [1, 2, 3]
    target = tmp_path / "big.json"
    said = scene.torpor("result", "ingest/big", "-o", str(target))
    assert said.code == 0, said.err
    assert len(json.loads(target.read_text())) == 500
    missing = scene.torpor("result", "ingest/load/1")
    assert (missing.code, missing.out) == (1, "")
    assert "its state is Failed" in missing.err


def test_why_names_the_cause_and_the_command(scene: Scene) -> None:
    failed, waiting = scene.torpor("why", "ingest"), scene.torpor("why", "deploy/ask")
    assert (failed.code, waiting.code) == (0, 0)
    assert "load/1" in failed.out
    assert "    torpor " in failed.out
    assert "approval" in waiting.out
    assert "    torpor approve deploy/ask" in waiting.out


def test_waits_lists_the_approval(scene: Scene) -> None:
    said = scene.torpor("waits")
    assert said.code == 0, said.err
    assert [line.split()[:2] for line in said.lines] == [["POOL", "CLASS"], ["default", "approval"]]
    refused = scene.torpor("waits", "-A")  # the user may view one namespace
    assert (refused.code, refused.err.count("\n")) == (1, 1)


def test_compare_shows_params_and_outcomes(scene: Scene) -> None:
    said = scene.torpor("compare", "ingest", "deploy")
    assert said.code == 0, said.err
    rows = [line.split() for line in said.lines]
    assert ["day", "monday", "friday"] in rows
    assert any(row[:2] == ["run", "Failed"] for row in rows)


def test_unknown_names_are_one_line_with_the_nearest(scene: Scene) -> None:
    for command in ("logs", "timeline", "why"):
        said = scene.torpor(command, "ingset")
        assert (said.code, said.out) == (1, "")
        assert "did you mean ingest?" in said.err


async def test_a_run_that_was_deleted_is_read_from_the_archive(scene: Scene, kubectl: Kubectl) -> None:
    """The last test, since it deletes the run."""

    async def archived() -> str | None:
        workflow = await scene.stage.workflow("ingest")
        kept = {entry.type: entry.status for entry in workflow.status.conditions}.get("Archived") == "True"
        return workflow.metadata.uid if kept else None

    uid = await scene.stage.until(archived, LIMIT_S, "the archive to keep the run")
    kubectl.run("-n", scene.stage.namespace, "delete", "workflow", "ingest", "--wait=true")
    assert scene.torpor("logs", "ingest/list", "--no-prefix").out == "reading\n"
    assert scene.torpor("timeline", uid).lines[0].startswith("ingest  Failed  ")
    assert len(json.loads(scene.torpor("result", "ingest/big").out)) == 500


def _objects(said: CommandOutput) -> list[tuple[str, ...]]:
    """The lines of pods: waits may come later than these."""
    items = [json.loads(line) for line in said.lines]
    return sorted(tuple(map(str, item.values())) for item in items if item["kind"] == "pod")

"""The programs of examples/languages wait in real pods of real images, and their tasks hold no pod meanwhile."""

import json
import os
import shutil
from pathlib import Path

import pytest
from torpor_demo import cluster, images
from torpor_demo.images import Image
from torpor_demo.kubectl import Kubectl
from torpor_dev import command
from torpor_dev.offline import golang
from torpor_wire.state import State

from tests.e2e.support.stage import ClusterFixture, Spec

_HERE = Path(__file__).parent
_EXAMPLES = Path(__file__).resolve().parents[3] / "examples/languages"
_GO, _NODE = "count-go:dev", "count-node:dev"
SHELL = (_EXAMPLES / "shell/count.sh").read_text()
PYTHON = (_EXAMPLES / "python/count.py").read_text()
ROOTLESS = {"securityContext": {"runAsUser": 65532}}
TASKS: tuple[Spec, ...] = (
    {"name": "shell", "container": {"command": ["sh", "-c", SHELL], "outcome": True}, "args": {"wait": "3s"}},
    {"name": "python", "container": {"command": ["python3", "-c", PYTHON], "outcome": True}},
    {"name": "go", "image": _GO, "container": {"outcome": True}, "pod": ROOTLESS},
    {"name": "node", "image": _NODE, "container": {"outcome": True}, "pod": ROOTLESS},
)
LARGE = (
    'i=0; while [ "$i" -lt 3000 ]; do i=$((i + 1)); echo "$i"; done > /tmp/rows; '
    "(echo '['; sed '$!s/$/,/' /tmp/rows; echo ']') > /tmp/rows.json; /torpor/torpor-tool put /tmp/rows.json"
)


@pytest.fixture(scope="session")
def languages(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The images of the Go and the Node program, in the cluster."""
    folder = tmp_path_factory.mktemp("go")
    shutil.copy(_HERE / "go.Dockerfile", folder / "Dockerfile")
    flags = ("-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", folder / "count")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    command.run(golang.ensure(), "build", *flags, ".", limit=600, cwd=_EXAMPLES / "go", env=environment)
    built = [
        Image(name=_GO, context=folder),
        Image(name=_NODE, context=_EXAMPLES, dockerfile=str(_HERE / "node.Dockerfile"), based=True),
    ]
    images.build(built, cluster.base_image())
    cluster.load([image.name for image in built])


async def test_a_program_of_any_language_waits_without_a_pod(stage: ClusterFixture, languages: None) -> None:
    async with stage.watching("torpor.dev/task=shell") as sightings:
        await stage.start("languages", {"image": "torpor-e2e:dev", "tasks": TASKS})
        waiting = await stage.reached("languages", "shell", State.DEFERRED)
        assert (await stage.ended("languages")).status.state == "Succeeded"
    for run in await stage.taskruns("languages"):
        result = json.loads(run.status.result or "")
        assert (result["count"], isinstance(result["event"], str)) == (3, True), run.spec.task
        assert (run.status.attempt, run.status.segment) == (1, 2)
    name = waiting.metadata.name
    assert {state.name for state in sightings.states} == {f"{name}-a1-s{segment}" for segment in range(3)}


async def test_a_container_stores_a_large_result_with_its_tool(stage: ClusterFixture) -> None:
    tasks = [
        {"name": "rows", "container": {"command": ["sh", "-c", LARGE], "tools": True}},
        {"name": "rows_seen", "python": "e2e_tasks:total", "args": {"rows": "${tasks.rows.result}"}},
    ]
    await stage.start("large", {"image": "torpor-e2e:dev", "tasks": tasks})
    assert (await stage.ended("large")).status.state == "Succeeded"
    run, reader = await stage.taskruns("large")
    assert run.status.stored is not None
    assert (run.status.stored.type, run.status.stored.length) == ("list", 3000)
    assert reader.status.result == "3000"

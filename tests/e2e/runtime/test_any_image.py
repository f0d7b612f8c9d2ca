"""Python tasks in images that have nothing of Torpor, and code from a ConfigMap."""

import json
from pathlib import Path
from typing import Any

import yaml
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_wire.state import State

from tests.e2e.support.stage import TIMEOUT, ClusterFixture

PLAIN = "torpor-e2e-plain:dev"
EXAMPLES = Path(__file__).parents[3] / "examples"
CODE = """
import os, sys
from torpor import defer
from torpor.triggers.time import Duration

def first(seconds):
    return defer(Duration(seconds), then=second, user=os.getuid(), file=__file__)

def second(event, user, file):
    return {"user": user, "file": file, "last": sys.path[-1], "writable": os.access("/torpor", os.W_OK)}
"""


def single_task(**fields: Any) -> dict[str, Any]:
    return {"image": PLAIN, "tasks": [{"name": "it", "retries": {"limit": 3, "delay": "1s"}, **fields}]}


async def failed(stage: ClusterFixture, name: str, spec: dict[str, Any]) -> TaskRun:
    await stage.start(name, spec)
    return await stage.reached(name, "it", State.FAILED)


async def test_a_task_of_a_plain_image_of_root_runs_with_the_injected_runtime(stage: ClusterFixture) -> None:
    await stage.start("plain", single_task(python="statistics:mean", args={"data": [1, 4, 9, 2]}))

    run = await stage.reached("plain", "it", State.SUCCEEDED)

    assert json.loads(run.status.result or "") == 4
    assert run.status.attempt == 1


async def test_code_of_a_configmap_starts_once_it_exists_and_defers(stage: ClusterFixture) -> None:
    await stage.start("code", single_task(python="load:first", args={"seconds": 1}, source={"configMap": "etl"}))

    async def reported() -> TaskRun | None:
        return next((run for run in await stage.taskruns("code") if run.status.reason == "MountFailed"), None)

    run = await stage.until(reported, TIMEOUT, "the TaskRun to name the missing ConfigMap")
    assert f"kubectl -n {stage.namespace} create configmap etl --from-file=FILE.py" in (run.status.message or "")
    await stage.api.create(CONFIG_MAPS, stage.namespace, {"metadata": {"name": "etl"}, "data": {"load.py": CODE}})

    run = await stage.reached("code", "it", State.SUCCEEDED)
    assert json.loads(run.status.result or "") == {
        "user": 65532,
        "file": "/torpor-source/load.py",
        "last": "/torpor/lib",
        "writable": False,
    }
    assert run.status.segment == 1
    assert run.status.pod is not None
    assert (run.status.pod.source or "").startswith("sha256:")


async def test_the_first_example_of_the_readme_runs_in_a_plain_image(stage: ClusterFixture) -> None:
    spec = yaml.safe_load((EXAMPLES / "inventory.yaml").read_text())["spec"]
    assert spec["image"] == "python:3.12-slim"  # which the cluster of the tests cannot pull
    files = {path.name: path.read_text() for path in (EXAMPLES / "inventory").glob("*.py")}
    await stage.api.create(CONFIG_MAPS, stage.namespace, {"metadata": {"name": "inventory"}, "data": files})
    await stage.start("inventory", spec | {"image": PLAIN, "params": {"largest": 2, "pause": "1s"}})

    assert (await stage.ended("inventory")).status.state == "Succeeded"
    assert [run.status.segment for run in await stage.taskruns("inventory", "measure")] == [1, 1]
    (report,) = await stage.taskruns("inventory", "report")
    assert "encodings" in (report.status.result or "")


async def test_an_image_without_python_is_named_and_not_retried(stage: ClusterFixture) -> None:
    run = await failed(stage, "nothing", single_task(python="statistics:mean", image="torpor-runtime:dev"))

    assert (run.status.reason, run.status.attempt) == ("LaunchFailed", 1)
    assert (run.status.message or "").startswith("image torpor-runtime:dev has no python3 in its PATH")


async def test_an_image_without_the_expected_runtime_is_named_and_not_retried(stage: ClusterFixture) -> None:
    user = {"securityContext": {"runAsUser": 1000}}
    run = await failed(stage, "wrong", single_task(python="statistics:mean", runtime="Image", pod=user))

    assert (run.status.reason, run.status.attempt) == ("LaunchFailed", 1)
    assert "remove runtime: Image, or build it FROM torpor-worker" in (run.status.message or "")


async def test_a_program_of_an_image_of_root_runs_as_another_user(stage: ClusterFixture) -> None:
    program = {"command": ["sh", "-c", "id -u > /dev/termination-log"]}
    await stage.start("root", single_task(container=program))
    run = await stage.reached("root", "it", State.SUCCEEDED)

    assert run.status.result == "65532"

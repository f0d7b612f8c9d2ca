"""Secrets of real waits: read in the name of the task's ServiceAccount, sealed by its pod, and seen by nobody else."""

import asyncio
import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

import yaml
from torpor_crds.models.taskrun import TaskRun
from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.resources import EVENTS, SECRETS, TASKRUNS
from torpor_wire.state import State

from tests.e2e.support import site
from tests.e2e.support.concurrent_runs import single_task, spec
from tests.e2e.support.rights import wait_until_allowed
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_ALL = "--max-log-requests=50"
_REFERENCE = {"secretRef": {"name": "site", "key": "authorization"}}


async def test_a_secret_is_read_where_the_account_may_and_is_never_shown(
    stage: ClusterFixture, kubectl: Kubectl, tmp_path: Path
) -> None:
    value = f"Bearer {secrets.token_hex(16)}"
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "site"}, "stringData": {"authorization": value}}
    await stage.api.create(SECRETS, stage.namespace, body)
    _open(kubectl, stage.namespace, tmp_path)
    url = f"http://{await site.started(stage, value)}:8000/"
    wait = {"class": "http", "kwargs": {"url": url, "headers": {"Authorization": _REFERENCE}, "interval": "1s"}}

    await stage.start("denied", spec({"name": "it", "trigger": wait}))
    denied = await stage.reached("denied", "it", State.FAILED)
    assert denied.status.reason == "SecretForbidden"
    assert f"ServiceAccount torpor-task may not get Secret site in namespace {stage.namespace}" in _message(denied)

    # The two commands of docs/reference/rbac.md.
    right = ("read-site", "--verb=get", "--resource=secrets", "--resource-name=site")
    bound = ("read-site", "--role=read-site", f"--serviceaccount={stage.namespace}:torpor-task")
    kubectl.run("-n", stage.namespace, "create", "role", *right)
    kubectl.run("-n", stage.namespace, "create", "rolebinding", *bound)
    account = f"system:serviceaccount:{stage.namespace}:torpor-task"
    wait_until_allowed(kubectl, stage.namespace, account, "get", "secrets/site")
    await stage.start("allowed", spec({"name": "it", "trigger": wait}))
    allowed = await stage.reached("allowed", "it", State.SUCCEEDED)
    answer = json.loads(allowed.status.result or "")
    assert (answer["status"], answer["json"]) == (200, {"sent": "***"})

    seen = await _seen(stage, kubectl, f"[{stage.namespace}/{allowed.metadata.name} ")
    assert value not in seen
    assert value.removeprefix("Bearer ") not in seen


async def test_only_the_triggerer_of_its_pool_opens_what_a_pod_sealed(stage: ClusterFixture, kubectl: Kubectl) -> None:
    await stage.start("w", {**single_task("wait_sealed"), "triggerPool": "e2e"})
    assert (await stage.ended("w")).status.state == "Succeeded"
    (run,) = await stage.taskruns("w")
    value = hashlib.sha256(run.metadata.uid.encode()).hexdigest()
    event = json.loads(run.status.result or "")["event"]
    assert event == {"said": "***", "sha256": hashlib.sha256(value.encode()).hexdigest()}

    seen = await _seen(stage, kubectl, f"[{stage.namespace}/{run.metadata.name} a1 s0] the word is ***")
    assert value not in seen


def _open(kubectl: Kubectl, namespace: str, folder: Path) -> None:
    """Add the component to the namespace, as docs/how-to/use-secrets.md says."""
    parts = {name: os.path.relpath(ROOT / "manifests" / name, folder.resolve()) for name in ("namespace", "components")}
    kustomization = {
        "namespace": namespace,
        "resources": [parts["namespace"]],
        "components": [f"{parts['components']}/secrets"],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    kubectl.run("apply", "--server-side", "-k", folder)


def _message(run: TaskRun) -> str:
    return run.status.message or ""


async def _seen(stage: ClusterFixture, kubectl: Kubectl, line: str) -> str:
    """What anybody may see of this namespace's waits: TaskRuns, Events, and what Torpor's own pods log.

    The logs contain `line`. The node has a line of a log a moment after the process has written it.
    """

    async def logs() -> str | None:
        words = ("logs", "-l", "app.kubernetes.io/name=torpor", "--tail=-1", "--since=10m", _ALL)
        text = await asyncio.to_thread(kubectl.run, "-n", SYSTEM, *words)
        return text if line in text else None

    logged = await stage.until(logs, TIMEOUT, f"the line {line!r}")
    pages: list[Any] = [(await stage.api.list(kind, stage.namespace)).items for kind in (TASKRUNS, EVENTS)]
    return json.dumps(pages) + logged

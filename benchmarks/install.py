"""`python -m benchmarks.install`: `helm install` on an empty kind cluster to the end of a first run, images present.

The cluster is created first, and gets the images. Counted is from the start of `helm install` to the success of a
workflow with one python task. An upgrade of a waiting run and the uninstallation follow, each with what it must keep.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torpor_chart import chart
from torpor_demo import cluster, images
from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl
from torpor_dev import command
from torpor_dev.offline import golang

from benchmarks.harness import program
from tests.e2e.support import second_cluster

GOAL = 60.0
TEAM = "team"
_LIMIT = 540
_WORK = {"name": "work", "python": "census.tasks:sections", "args": {"largest": 2}}
_ASK = {"name": "ask", "trigger": {"class": "approval"}}


def main() -> None:
    """Measure and print."""
    parser = program.parser(__doc__)
    parser.add_argument("--built", action="store_true", help="use the local images as they are, and build none")
    options = parser.parse_args()
    if not options.built:
        images.build(images.ALL, cluster.base_image())
    with tempfile.TemporaryDirectory() as folder, second_cluster.created() as kubectl:
        _load([image.name for image in images.ALL])
        site = ChartSite(kubectl, Path(folder))
        for name, seconds in site.steps():
            print(f"{name}: {seconds:.1f} s", flush=True)


class ChartSite:
    """An empty cluster, and the chart in two versions."""

    def __init__(self, kubectl: Kubectl, folder: Path) -> None:
        self._kubectl = kubectl
        self._folder = folder
        self._helm = golang.build(golang.HELM)

    def steps(self) -> Sequence[tuple[str, float]]:
        """Each step with its time in seconds."""
        for version in ("1.0.0", "1.1.0"):
            chart.write(self._folder / version / "torpor", version)
        self._kubectl.run("create", "namespace", TEAM)
        return [
            (f"helm install to the end of a first run (goal: {GOAL:.0f} s)", _seconds(self._install)),
            ("helm upgrade, with a run that waits", _seconds(self._upgrade)),
            ("helm uninstall, which keeps the runs", _seconds(self._uninstall)),
        ]

    def _install(self) -> None:
        self._run("install", "torpor", self._chart("1.0.0"), "--create-namespace", "--wait", *_values())
        self._start("first", _WORK)
        self._kubectl.run(
            "wait", "-n", TEAM, "workflow/first", "--for=condition=Succeeded", "--timeout=300s", limit=310
        )

    def _upgrade(self) -> None:
        self._start("waiting", _ASK)
        selected = ("-l", "torpor.dev/workflow=waiting")
        state = ("--for=jsonpath={.status.state}=Deferred", "--timeout=300s")
        created = ("--for=create", "--timeout=300s")
        self._kubectl.run("wait", "-n", TEAM, "taskrun", *selected, *created, limit=310)
        self._kubectl.run("wait", "-n", TEAM, "taskrun", *selected, *state, limit=310)
        self._run("upgrade", "torpor", self._chart("1.1.0"), "--wait", *_values())
        self._kubectl.run("wait", "-n", TEAM, "taskrun", *selected, *state, limit=310)

    def _uninstall(self) -> None:
        self._run("uninstall", "torpor", "--wait")
        kept = {item["metadata"]["name"] for item in self._kubectl.read("workflows", "-n", TEAM)["items"]}
        assert kept == {"first", "waiting"}, kept

    def _chart(self, version: str) -> Path:
        return self._folder / version / "torpor"

    def _start(self, name: str, task: dict[str, Any]) -> None:
        spec = {"image": images.CENSUS.name, "runtime": "Image", "tasks": [task]}
        body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": name}, "spec": spec}
        self._kubectl.run("create", "-n", TEAM, "-f", "-", stdin=json.dumps(body))

    def _run(self, *words: str | Path) -> None:
        env = {**os.environ, "KUBECONFIG": str(self._kubectl.kubeconfig)}
        command.run(self._helm, *words, "-n", SYSTEM, "--timeout", "9m", limit=_LIMIT, env=env)


def _values() -> tuple[str, ...]:
    return ("--set", f"namespaces={{{TEAM}}}")


def _load(names: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-m", "torpor_dev", "load", *names], env=second_cluster.environment(), check=True)


def _seconds(step: Callable[[], None]) -> float:
    start = time.monotonic()
    step()
    return time.monotonic() - start


if __name__ == "__main__":
    main()

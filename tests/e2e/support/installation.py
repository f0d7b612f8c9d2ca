"""An installation of Torpor on the second cluster, whose nodes pull from a registry: by kubectl and by Helm.

The commands are those of docs/install.md and docs/operations/upgrade.md.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from torpor_chart import chart
from torpor_chart.chart import ChartImages
from torpor_demo import cluster, images, install, manifest
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image, Release
from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl

from tests.e2e.support import image_registry, second_cluster
from tests.e2e.support.image_registry import ImageRegistry
from tests.support.chart import helm

TEAM = "team"
_ENDS_AT_ONCE = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit()); signal.pause()"
ASK: Mapping[str, Any] = {"name": "ask", "trigger": {"class": "approval"}}
WORK: Mapping[str, Any] = {"name": "work", "python": "census.tasks:sections", "args": {"largest": 2}}
STAY: Mapping[str, Any] = {"name": "stay", "container": {"command": ["python", "-c", _ENDS_AT_ONCE]}}
_TRACED = "import json, os; print(json.dumps(os.environ['TRACEPARENT']), file=open('/dev/termination-log', 'w'))"
TRACED: Mapping[str, Any] = {"name": "traced", "container": {"command": ["python", "-c", _TRACED]}}
"""Its result is the parent of spans that its container gets."""
_LIMIT = 300
"""Seconds that a run may take to a state: the machine may be busy."""


class ClusterInstallation:
    """A cluster and a registry, and the commands with which a person installs, upgrades and removes Torpor."""

    def __init__(self, kubectl: Kubectl, registry: ImageRegistry, folder: Path) -> None:
        self.kubectl = kubectl
        self._registry = registry
        self._folder = folder
        self._released: dict[str, tuple[Path, str]] = {}

    def release(self, version: str) -> tuple[Path, str]:
        """Push a version of this checkout; return its manifest and the name of the example's image."""
        if version not in self._released:
            pushed = self._make("images", version).split()
            text = (ROOT / self._make("manifest", version).strip()).read_text()
            self._released[version] = self._rendered(version, text), _census(pushed)
        return self._released[version]

    def release_source(self, version: str, source: Path) -> None:
        """Push a version whose source is in a folder, such as a former release. `install` knows it from then on."""
        released = Release(registry=self._registry.name, version=version)
        moved = [_moved(image, source) for image in images.ALL]
        pushed = images.publish(moved, cluster.base_image(), released)
        torpor, runtime = (pushed[image.name] for image in (images.TORPOR, images.RUNTIME))
        text = manifest.released(source / "manifests/base", torpor, runtime)
        self._released[version] = self._rendered(version, text), _census(list(pushed.values()))

    def push(self, image: Image, version: str) -> str:
        """Build an image and push it; return its name with the digest."""
        released = Release(registry=self._registry.name, version=version)
        return images.publish([image], cluster.base_image(), released)[image.name]

    def install(self, version: str) -> None:
        """Apply the manifest of a version, and set the namespace up."""
        self.kubectl.run("apply", "--server-side", "-f", self.release(version)[0], limit=_LIMIT)
        install.await_ready(self.kubectl)
        install.prepare(self.kubectl, TEAM)

    def trace(self) -> None:
        """Let the operator export traces, to a collector that is down."""
        endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
        self.kubectl.run("set", "env", "-n", SYSTEM, "deployment/torpor-operator", endpoint)

    def extend(self) -> None:
        """Apply what docs/install.md names besides the manifest: components, a pool, roles of people."""
        components = [ROOT / "manifests/components" / name for name in ("secrets", "quota")]
        namespace = {"resources": [ROOT / "manifests/namespace"], "components": components, "namespace": TEAM}
        self.kubectl.run("apply", "--server-side", "-f", "-", stdin=manifest.render(namespace))
        self.kubectl.run("apply", "--server-side", "-k", ROOT / "examples/own-trigger/pool")
        role = ("--clusterrole=torpor-approve", "--user=ann@example.org")
        self.kubectl.run("create", "rolebinding", "approvers", "-n", TEAM, *role)
        self.kubectl.run("create", "clusterrolebinding", "approvers", *role)

    def start(self, name: str, *tasks: Mapping[str, Any], version: str) -> None:
        """Create a run whose pods use the example's image of a version."""
        spec = {"image": self.release(version)[1], "runtime": "Image", "tasks": list(tasks)}
        body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": name}, "spec": spec}
        self.kubectl.run("create", "-n", TEAM, "-f", "-", stdin=json.dumps(body))

    def reached(self, workflow: str, task: str, state: str) -> str:
        """Wait until the TaskRun of a task is in a state; return its name."""
        labels = f"torpor.dev/workflow={workflow},torpor.dev/task={task}"
        end = time.monotonic() + _LIMIT
        while True:
            for run in self.kubectl.read("taskruns", "-n", TEAM, "-l", labels)["items"]:
                if run["status"]["state"] == state:
                    name: str = run["metadata"]["name"]
                    return name
            assert time.monotonic() < end, self.kubectl.run("get", "-n", TEAM, "taskruns,pods,events")
            time.sleep(0.5)

    def approve(self, taskrun: str) -> None:
        """Approve a task as the user of the kubeconfig."""
        person = self.kubectl.run("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
        answer = ("torpor.dev/approval=approved", f"torpor.dev/approval-by={person}")
        self.kubectl.run("annotate", "taskrun", "-n", TEAM, taskrun, *answer)

    def succeeded(self, workflow: str) -> None:
        """Wait until a run has succeeded."""
        condition = ("--for=condition=Succeeded", f"--timeout={_LIMIT}s")
        self.kubectl.run("wait", "-n", TEAM, f"workflow/{workflow}", *condition, limit=_LIMIT + 30)

    def versions(self) -> set[str]:
        """The tags of the images that Torpor's pods run, without those that are being deleted."""
        return {image.partition("@")[0].rpartition(":")[2] for image in pod_images(self.kubectl, SYSTEM)}

    def helm(self, *words: str | Path) -> None:
        """Run Helm in the namespace of Torpor."""
        done = helm.run(*words, "-n", SYSTEM, environment={"KUBECONFIG": str(self.kubectl.kubeconfig)}, limit=600)
        assert done.returncode == 0, done.stderr

    def chart(self, version: str) -> Path:
        """The chart of a version of this checkout, with the digests of its images."""
        self.release(version)
        folder = self._folder / f"chart-{version}" / "torpor"
        released = Release(registry=self._registry.name, version=version)
        torpor, runtime = (images.pinned(image, released) for image in (images.TORPOR, images.RUNTIME))
        chart.write(folder, version, ChartImages(torpor=torpor, runtime=runtime))
        return folder

    def uninstall(self) -> None:
        """Uninstall as `make uninstall` does."""
        environment = {"KUBECONFIG": str(self.kubectl.kubeconfig), **second_cluster.environment()}
        subprocess.run(["sh", ROOT / "manifests/uninstall.sh"], env=environment, check=True, timeout=400)

    def _rendered(self, version: str, text: str) -> Path:
        path = self._folder / f"install-{version}.yaml"
        path.write_text(text)
        return path

    def _make(self, target: str, version: str) -> str:
        command = ["make", "--silent", target, f"REGISTRY={self._registry.name}", f"VERSION={version}"]
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextmanager
def empty(folder: Path) -> Iterator[ClusterInstallation]:
    """The second cluster with a registry that its node trusts, and a namespace with an object of its own."""
    container = f"{second_cluster.NAME}-registry"
    with second_cluster.created() as kubectl, image_registry.started(container, folder) as registry:
        registry.trusted_by(second_cluster.NODE)
        kubectl.run("create", "namespace", TEAM)
        kubectl.run("create", "configmap", "mine", "-n", TEAM)
        yield ClusterInstallation(kubectl, registry, folder)


def pod_images(kubectl: Kubectl, *namespaces: str) -> set[str]:
    """The images of the containers of all pods that are not being deleted."""
    pods = [pod for each in namespaces for pod in kubectl.read("pods", "-n", each)["items"]]
    living = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return {container["image"] for pod in living for container in pod["spec"]["containers"]}


def _census(pushed: list[str]) -> str:
    return next(each for each in pushed if "/census:" in each)


def _moved(image: Image, source: Path) -> Image:
    """The image, built from another checkout."""
    return replace(image, context=source / image.context.relative_to(ROOT))

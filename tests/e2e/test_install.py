"""Torpor on a cluster that pulls from a registry: installed, applied again, upgraded and removed.

The commands are those of docs/install.md.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from torpor_demo import install, manifest
from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl

from tests.e2e.support import image_registry, second_cluster
from tests.e2e.support.image_registry import ImageRegistry

# It makes a cluster and pulls all images into it.
pytestmark = pytest.mark.long

TEAM = "team"
_ENDS_AT_ONCE = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit()); signal.pause()"
ASK: Mapping[str, Any] = {"name": "ask", "trigger": {"class": "approval"}}
WORK: Mapping[str, Any] = {"name": "work", "python": "census.tasks:sections", "args": {"largest": 2}}
STAY: Mapping[str, Any] = {"name": "stay", "container": {"command": ["python", "-c", _ENDS_AT_ONCE]}}


class Installation:
    """A cluster and a registry, and the commands with which a person installs and removes Torpor."""

    def __init__(self, kubectl: Kubectl, registry: ImageRegistry, folder: Path) -> None:
        self.kubectl = kubectl
        self._registry = registry
        self._folder = folder
        self._released: dict[str, tuple[Path, str]] = {}
        self.bare: set[str] = set()

    def release(self, version: str) -> tuple[Path, str]:
        """Push a version; return its manifest and the name of the example's image."""
        if version not in self._released:
            pushed = self._make("images", version).split()
            rendered = self._folder / f"install-{version}.yaml"
            rendered.write_text((ROOT / self._make("manifest", version).strip()).read_text())
            self._released[version] = (rendered, next(each for each in pushed if "/census:" in each))
        return self._released[version]

    def install(self, version: str) -> None:
        self.kubectl.run("apply", "--server-side", "-f", self.release(version)[0])
        install.await_ready(self.kubectl)
        install.prepare(self.kubectl, TEAM)

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
        spec = {"image": self.release(version)[1], "runtime": "Image", "tasks": list(tasks)}
        body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": name}, "spec": spec}
        self.kubectl.run("create", "-n", TEAM, "-f", "-", stdin=json.dumps(body))

    def reached(self, workflow: str, task: str, state: str) -> str:
        """Wait until the TaskRun of a task is in a state; return its name."""
        labels = f"torpor.dev/workflow={workflow},torpor.dev/task={task}"
        end = time.monotonic() + 120
        while True:
            for run in self.kubectl.read("taskruns", "-n", TEAM, "-l", labels)["items"]:
                if run["status"]["state"] == state:
                    name: str = run["metadata"]["name"]
                    return name
            assert time.monotonic() < end, self.kubectl.run("get", "-n", TEAM, "taskruns,pods,events")
            time.sleep(0.5)

    def succeeded(self, workflow: str) -> None:
        condition = ("--for=condition=Succeeded", "--timeout=120s")
        self.kubectl.run("wait", "-n", TEAM, f"workflow/{workflow}", *condition, limit=150)

    def uninstall(self) -> None:
        """Uninstall as `make uninstall` does."""
        environment = {"KUBECONFIG": str(self.kubectl.kubeconfig), **second_cluster.environment()}
        subprocess.run(["sh", ROOT / "manifests/uninstall.sh"], env=environment, check=True, timeout=400)

    def _make(self, target: str, version: str) -> str:
        command = ["make", "--silent", target, f"REGISTRY={self._registry.name}", f"VERSION={version}"]
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("install")
    container = f"{second_cluster.NAME}-registry"
    with second_cluster.created() as kubectl, image_registry.started(container, folder) as registry:
        registry.trusted_by(second_cluster.NODE)
        kubectl.run("create", "namespace", TEAM)
        kubectl.run("create", "configmap", "mine", "-n", TEAM)
        made = Installation(kubectl, registry, folder)
        made.release("1.0")
        made.bare = second_cluster.objects(kubectl)
        yield made


def test_the_nodes_pull_what_the_manifest_pins_and_run_a_workflow(site: Installation) -> None:
    site.install("1.0")
    site.start("first", WORK, version="1.0")
    site.succeeded("first")
    pinned = {image for image in _images(site.kubectl) if "@sha256:" in image}
    assert {image.partition("@")[0].rpartition("/")[2] for image in pinned} == {"torpor:1.0", "census:1.0"}


def test_applying_the_same_manifest_again_changes_nothing(site: Installation) -> None:
    site.install("1.0")
    before = _generations(site)
    site.install("1.0")
    assert _generations(site) == before


def test_a_wait_goes_on_through_an_upgrade(site: Installation) -> None:
    site.install("1.0")
    site.start("long", ASK, {**WORK, "after": ["ask"]}, version="1.0")
    asked = site.reached("long", "ask", "Deferred")
    site.install("2.0")
    assert {image.partition("@")[0].rpartition("/")[2] for image in _images(site.kubectl, SYSTEM)} == {"torpor:2.0"}
    person = site.kubectl.run("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    answer = ("torpor.dev/approval=approved", f"torpor.dev/approval-by={person}")
    site.kubectl.run("annotate", "taskrun", "-n", TEAM, asked, *answer)
    site.succeeded("long")


@pytest.mark.parametrize("running", [False, True], ids=["the operator is down", "the operator runs"])
def test_uninstalling_leaves_nothing_behind(site: Installation, *, running: bool) -> None:
    site.install("2.0")
    site.extend()
    site.start("left", ASK, STAY, version="2.0")
    site.reached("left", "ask", "Deferred")
    site.reached("left", "stay", "Running")
    if not running:
        site.kubectl.run("delete", "-n", SYSTEM, "deployment/torpor-operator", "--cascade=foreground", limit=90)
    assert second_cluster.objects(site.kubectl) > site.bare
    site.uninstall()
    left = second_cluster.objects(site.kubectl)
    # The cluster deletes the volume of the archive a moment after its claim.
    end = time.monotonic() + 60
    while left != site.bare and time.monotonic() < end:
        time.sleep(1)
        left = second_cluster.objects(site.kubectl)
    assert left == site.bare
    site.uninstall()  # a second time, there is nothing to do


def _images(kubectl: Kubectl, *namespaces: str) -> set[str]:
    pods = [pod for each in namespaces or (SYSTEM, TEAM) for pod in kubectl.read("pods", "-n", each)["items"]]
    living = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return {container["image"] for pod in living for container in pod["spec"]["containers"]}


def _generations(site: Installation) -> dict[tuple[str, str], Any]:
    """The generation of each object of the manifest, or its uid where the kind has no generations."""
    items = json.loads(site.kubectl.run("get", "-f", site.release("1.0")[0], "-o", "json"))["items"]
    return {
        (each["kind"], each["metadata"]["name"]): each["metadata"].get("generation", each["metadata"]["uid"])
        for each in items
    }

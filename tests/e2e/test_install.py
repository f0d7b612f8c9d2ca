"""Torpor on a cluster that pulls from a registry: installed, applied again, upgraded and removed, also by Helm.

The commands are those of docs/install.md.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from torpor_demo.install import SYSTEM
from torpor_wire import trace_ids

from tests.e2e.support import second_cluster
from tests.e2e.support.installation import ASK, STAY, TEAM, TRACED, WORK, ClusterInstallation, empty, pod_images

# It makes a cluster and pulls all images into it.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInstallation]:
    with empty(tmp_path_factory.mktemp("install")) as made:
        made.release("1.0")
        yield made


@pytest.fixture(scope="module")
def bare(site: ClusterInstallation) -> set[str]:
    """The objects of the cluster before the first installation."""
    return second_cluster.objects(site.kubectl)


@pytest.fixture(autouse=True)
def _bare_first(bare: set[str]) -> None:
    """Read the objects of the cluster before any test installs something."""


def test_the_nodes_pull_what_the_manifest_pins_and_run_a_workflow(site: ClusterInstallation) -> None:
    site.install("1.0")
    site.start("first", WORK, version="1.0")
    site.succeeded("first")
    pinned = {image for image in pod_images(site.kubectl, SYSTEM, TEAM) if "@sha256:" in image}
    assert {image.partition("@")[0].rpartition("/")[2] for image in pinned} == {"torpor:1.0", "census:1.0"}


def test_applying_the_same_manifest_again_changes_nothing(site: ClusterInstallation) -> None:
    site.install("1.0")
    before = _generations(site)
    site.install("1.0")
    assert _generations(site) == before


def test_a_wait_goes_on_through_an_upgrade_and_later_pods_are_traced(site: ClusterInstallation) -> None:
    site.install("1.0")
    tasks = [{**task, "after": ["ask"]} for task in (WORK, TRACED)]
    site.start("long", ASK, *tasks, version="1.0")
    asked = site.reached("long", "ask", "Deferred")
    site.trace()  # it changes the Deployment, as the upgrade does
    site.install("2.0")
    assert site.versions() == {"2.0"}
    site.approve(asked)
    site.succeeded("long")
    run = site.kubectl.read("taskrun", site.reached("long", "traced", "Succeeded"), "-n", TEAM)
    uids = (run["spec"]["workflow"]["uid"], run["metadata"]["uid"])
    assert json.loads(run["status"]["result"]) == trace_ids.traceparent(*uids, 1, 0, 0)


def test_helm_upgrades_below_a_wait_and_leaves_the_runs(site: ClusterInstallation) -> None:
    site.uninstall()
    values = ("--set", f"namespaces={{{TEAM}}}", "--wait", "--timeout", "9m")
    site.helm("install", "torpor", site.chart("1.0"), "--create-namespace", *values)
    site.start("charted", ASK, {**WORK, "after": ["ask"]}, version="1.0")
    asked = site.reached("charted", "ask", "Deferred")
    site.helm("upgrade", "torpor", site.chart("2.0"), *values)
    assert site.versions() == {"2.0"}
    site.helm("uninstall", "torpor", "--wait")
    assert site.kubectl.read("taskrun", asked, "-n", TEAM)["status"]["state"] == "Deferred"
    site.helm("install", "torpor", site.chart("2.0"), *values)
    site.approve(asked)
    site.succeeded("charted")
    site.uninstall()


@pytest.mark.parametrize("running", [False, True], ids=["the operator is down", "the operator runs"])
def test_uninstalling_leaves_nothing_behind(site: ClusterInstallation, bare: set[str], *, running: bool) -> None:
    site.install("2.0")
    site.extend()
    site.start("left", ASK, STAY, version="2.0")
    site.reached("left", "ask", "Deferred")
    site.reached("left", "stay", "Running")
    if not running:
        site.kubectl.run("delete", "-n", SYSTEM, "deployment/torpor-operator", "--cascade=foreground", limit=90)
    assert second_cluster.objects(site.kubectl) > bare
    site.uninstall()
    left = second_cluster.objects(site.kubectl)
    # The cluster deletes the volume of the archive a moment after its claim.
    end = time.monotonic() + 60
    while left != bare and time.monotonic() < end:
        time.sleep(1)
        left = second_cluster.objects(site.kubectl)
    assert left == bare
    site.uninstall()  # a second time, there is nothing to do


def _generations(site: ClusterInstallation) -> dict[tuple[str, str], Any]:
    """The generation of each object of the manifest, or its uid where the kind has no generations."""
    items = json.loads(site.kubectl.run("get", "-f", site.release("1.0")[0], "-o", "json"))["items"]
    return {
        (each["kind"], each["metadata"]["name"]): each["metadata"].get("generation", each["metadata"]["uid"])
        for each in items
    }

"""The chart on an API server of its own: installed, over a manual installation, upgraded, removed, and confined."""

import json
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_chart import chart
from torpor_demo.cluster import ROOT
from torpor_demo.kubectl import Kubectl
from torpor_dev import control_plane

from tests.support.chart import helm

# A control plane of its own, because the tests remove what others need.
pytestmark = pytest.mark.long

SYSTEM = "torpor-system"
RUN = {
    "apiVersion": "torpor.dev/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "kept"},
    "spec": {"tasks": [{"name": "ask", "trigger": {"class": "approval"}}]},
}


class Site:
    """An API server, and Helm as its administrator or as another user."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.kubectl = Kubectl(kubeconfig)
        self.kubeconfig = kubeconfig
        self.system = self.team = ""
        self._folder = folder

    def renew(self) -> None:
        """Use a namespace for Torpor and one for workflows that no test has used: a deletion takes long."""
        suffix = uuid.uuid4().hex[:8]
        self.system, self.team = f"torpor-{suffix}", f"team-{suffix}"
        self.kubectl.run("create", "namespace", self.team)

    def helm(self, *words: str | Path, user: Path | None = None) -> subprocess.CompletedProcess[str]:
        return helm.run(*words, environment={"KUBECONFIG": str(user or self.kubeconfig)})

    def install(self, *words: str | Path) -> str:
        return done(self.helm("install", "torpor", helm.folder(), "-n", self.system, "--create-namespace", *words))

    def newer_chart(self, version: str) -> Path:
        path = self._folder / version / "torpor"
        chart.write(path, version)
        return path

    def names(self, kind: str, *words: str) -> set[str]:
        items = self.kubectl.read(kind, *words)["items"]
        return {item["metadata"]["name"] for item in items}

    def user(self, namespace: str, account: str) -> Path:
        """The kubeconfig of a ServiceAccount."""
        token = self.kubectl.run("create", "token", account, "-n", namespace).strip()
        config = yaml.safe_load(self.kubeconfig.read_text())
        for each in config["users"]:
            each["user"] = {"token": token}
        path = self._folder / f"{account}.yaml"
        path.write_text(yaml.safe_dump(config))
        return path


def done(process: subprocess.CompletedProcess[str]) -> str:
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("chart")
    state = folder / "plane"
    try:
        yield Site(control_plane.start(state), folder)
    finally:
        control_plane.stop(state)


@pytest.fixture
def empty(site: Site) -> Site:
    """The API server with new namespaces, and without what an earlier test installed."""
    for release in json.loads(done(site.helm("list", "-A", "-o", "json"))):
        done(site.helm("uninstall", release["name"], "-n", release["namespace"]))
    site.kubectl.run("delete", "crd", "-l", "app.kubernetes.io/part-of=torpor", "--ignore-not-found", limit=200)
    cluster = "clusterrolebindings,clusterroles,priorityclasses,validatingadmissionpolicies"
    kinds = f"{cluster},validatingadmissionpolicybindings"
    site.kubectl.run("delete", kinds, "-l", "app.kubernetes.io/part-of=torpor")
    site.renew()
    return site


def test_upgrade_and_uninstallation_lose_no_run(empty: Site) -> None:
    site = empty
    site.install("--set", f"namespaces={{{site.team}}}")
    site.kubectl.run("wait", "--for=condition=Established", "crd/workflows.torpor.dev", "--timeout=60s")
    site.kubectl.run("create", "-n", site.team, "-f", "-", stdin=json.dumps(RUN))
    done(
        site.helm(
            "upgrade", "torpor", site.newer_chart("1.1.0"), "-n", site.system, "--set", f"namespaces={{{site.team}}}"
        )
    )
    definition = site.kubectl.read("crd", "workflows.torpor.dev")
    assert definition["metadata"]["labels"]["app.kubernetes.io/version"] == "1.1.0"
    said = done(site.helm("uninstall", "torpor", "-n", site.system))
    assert "kept due to the resource policy" in said
    assert site.names("workflows", "-n", site.team) == {"kept"}
    assert site.names("persistentvolumeclaims", "-n", site.system) == {"torpor-archive"}
    assert "torpor-seal-default" in site.names("secrets", "-n", site.system)
    assert site.names("validatingadmissionpolicies", "-l", "app.kubernetes.io/part-of=torpor") == set()
    assert site.names("deployments", "-n", site.system) == set()
    done(
        site.helm(
            "install", "torpor", site.newer_chart("1.1.0"), "-n", site.system, "--set", f"namespaces={{{site.team}}}"
        )
    )
    assert site.names("workflows", "-n", site.team) == {"kept"}


def test_a_chart_that_is_older_than_the_definitions_is_refused(empty: Site) -> None:
    site = empty
    done(site.helm("install", "torpor", site.newer_chart("2.0.0"), "-n", site.system, "--create-namespace"))
    older = site.newer_chart("1.9.0")
    refused = site.helm("upgrade", "torpor", older, "-n", site.system)
    assert refused.returncode != 0
    assert "is of version 2.0.0, newer than version 1.9.0 of this chart" in refused.stderr
    assert "crds.install=false" in refused.stderr
    done(site.helm("upgrade", "torpor", older, "-n", site.system, "--set", "crds.install=false"))
    definition = site.kubectl.read("crd", "workflows.torpor.dev")
    assert definition["metadata"]["labels"]["app.kubernetes.io/version"] == "2.0.0"


def test_a_manual_installation_is_taken_over_when_the_user_says_so(empty: Site) -> None:
    site = empty
    site.kubectl.run("apply", "--server-side", "-f", ROOT / "manifests/install.yaml")
    claim = site.kubectl.read("persistentvolumeclaim", "torpor-archive", "-n", SYSTEM)
    site.kubectl.run("patch", "secret", "torpor-seal-default", "-n", SYSTEM, "-p", '{"stringData":{"key":"ours"}}')
    refused = site.helm("install", "torpor", helm.folder(), "-n", SYSTEM)
    assert refused.returncode != 0
    assert "cannot be imported into the current release" in refused.stderr
    taking = ("--take-ownership", "--force-conflicts")
    done(site.helm("install", "torpor", helm.folder(), "-n", SYSTEM, *taking))
    taken = site.kubectl.read("persistentvolumeclaim", "torpor-archive", "-n", SYSTEM)
    assert taken["metadata"]["uid"] == claim["metadata"]["uid"]
    assert site.kubectl.read("secret", "torpor-seal-default", "-n", SYSTEM)["data"]


def test_two_releases_for_all_namespaces_are_refused(empty: Site) -> None:
    site = empty
    site.install()
    second = site.helm("install", "second", helm.folder(), "-n", f"{site.system}-b", "--create-namespace")
    assert second.returncode != 0
    assert "cannot be imported into the current release" in second.stderr


def test_the_objects_of_the_chart_do_not_drift(empty: Site) -> None:
    """What Argo CD and Flux compare: each field that is rendered has that value in the cluster."""
    site = empty
    values = {"namespaces": [site.team], "ui": {"enabled": True}, "triggerer": {"autoscaling": {"enabled": True}}}
    path = helm.folder().parent / "drift.json"
    path.write_text(json.dumps(values))
    site.install("--values", path)
    rendered = helm.rendered(values, namespace=site.system)
    path.with_name("rendered.yaml").write_text(yaml.safe_dump_all(rendered))
    live = json.loads(site.kubectl.run("get", "-f", path.with_name("rendered.yaml"), "-o", "json"))["items"]
    drifted = [
        f"{body['kind']} {body['metadata']['name']}{at}"
        for body, stored in zip(rendered, live, strict=True)
        for at in _differences(body, stored)
    ]
    assert drifted == []
    before = site.kubectl.read("deployment", "torpor-operator", "-n", site.system)["metadata"]
    done(site.helm("upgrade", "torpor", helm.folder(), "-n", site.system, "--values", path))
    after = site.kubectl.read("deployment", "torpor-operator", "-n", site.system)["metadata"]
    assert after["generation"] == before["generation"]


def test_a_user_without_rights_on_the_cluster_installs_a_confined_torpor(empty: Site) -> None:
    site = empty
    site.install()
    second = f"{site.system}-b"
    site.kubectl.run("create", "namespace", second)
    site.kubectl.run("create", "serviceaccount", "installer", "-n", second)
    for namespace in (second, site.team):
        for role in ("admin", "torpor-install"):
            subject = (f"--serviceaccount={second}:installer", f"--clusterrole={role}")
            site.kubectl.run("create", "rolebinding", f"installer-{role}", "-n", namespace, *subject)
    user = site.user(second, "installer")
    flags = [
        "--set",
        f"watchNamespaces={{{site.team}}}",
        "--set",
        "cluster.install=false",
        "--set",
        "cluster.reviews=false",
    ]
    flags += ["--set", "crds.install=false", "-n", second]
    done(site.helm("install", "ours", helm.folder(), *flags, user=user))
    installed = [body for body in yaml.safe_load_all(done(site.helm("get", "manifest", "ours", "-n", second))) if body]
    assert {body["metadata"]["namespace"] for body in installed} == {second, site.team}
    more = site.helm("upgrade", "ours", helm.folder(), *flags, "--set", "cluster.reviews=true", user=user)
    assert more.returncode != 0
    assert "clusterrolebindings" in more.stderr
    other = site.helm("install", "other", helm.folder(), "-n", second, *flags[:-2])
    assert other.returncode != 0, "a namespace belongs to one release"


def test_a_release_fits_into_its_secret(empty: Site) -> None:
    site = empty
    site.install()
    (stored,) = site.kubectl.read("secrets", "-n", site.system, "-l", "owner=helm")["items"]
    # etcd refuses objects above 1.5 MB, and Secrets have 1 MiB.
    assert len(stored["data"]["release"]) < 900_000


def _differences(wanted: Any, live: Any, at: str = "") -> Iterator[str]:
    match wanted:
        case Mapping():
            for name, value in wanted.items():
                if not isinstance(live, Mapping) or name not in live:
                    yield f"{at}.{name}"
                else:
                    yield from _differences(value, live[name], f"{at}.{name}")
        case list():
            if not isinstance(live, list) or len(live) != len(wanted):
                yield at
                return
            for index, (one, other) in enumerate(zip(wanted, live, strict=True)):
                yield from _differences(one, other, f"{at}[{index}]")
        case _:
            if wanted != live:
                yield f"{at}: {wanted!r} is {live!r}"

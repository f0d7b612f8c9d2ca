"""Operator and triggerer with `--namespaces`, with RoleBindings alone: they serve a namespace and see no other."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from torpor_wire import constants

from tests.integration.conftest import ROOT, Server, collection, eventually
from tests.integration.controller.stage import kubeconfig_of
from tests.support.manifests import manifest
from tests.support.ports import free_port

_RBAC = "rbac.authorization.k8s.io/v1"
_HOME = "home"
_ACCOUNTS = ("torpor-operator", "torpor-triggerer")


def account_of(subject: dict[str, str], home: str) -> dict[str, str]:
    """The subject with the accounts of `home` instead of those of torpor-system."""
    return {field: value.replace("torpor-system", home) for field, value in subject.items()}


@pytest.fixture(scope="module")
def home(server: Server) -> Iterator[str]:
    """A namespace for the components, with their Roles and accounts, and no ClusterRoleBinding."""
    name = bare_namespace(server)
    installed = yaml.safe_load_all((ROOT / "manifests/install.yaml").read_text())
    for document in installed:
        if document["kind"] not in ("Role", "RoleBinding", "ServiceAccount", "Secret", "ConfigMap"):
            continue
        if document["metadata"]["name"] in (*_ACCOUNTS, "torpor-seal-default"):
            metadata = document["metadata"] | {"namespace": name}
            subjects = {"subjects": [account_of(subject, name) for subject in document.get("subjects", ())]}
            server.apply(document | {"metadata": metadata} | (subjects if "subjects" in document else {}))
    yield name
    server.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="module")
def team(server: Server, home: str) -> Iterator[str]:
    """A namespace that binds the components of `home` to what they need there."""
    name = bare_namespace(server)
    files = ("namespace/operator.yaml", "namespace/triggerer.yaml", "components/confined-namespace/bindings.yaml")
    for file in files:
        for document in yaml.safe_load_all((ROOT / "manifests" / file).read_text()):
            metadata = {"name": f"{document['metadata']['name']}-{_HOME}", "namespace": name}
            subjects = [account_of(subject, home) for subject in document["subjects"]]
            server.apply(document | {"metadata": metadata, "subjects": subjects})
    yield name
    server.request("DELETE", f"/api/v1/namespaces/{name}")


def bare_namespace(server: Server) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.fixture
def start(server: Server, home: str, team: str, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Starts a component that is confined to `team`. Returns its log."""
    processes: list[subprocess.Popen[bytes]] = []

    def starts(account: str, *arguments: str) -> Path:
        config, log = tmp_path / f"{account}.yaml", tmp_path / f"{account}.log"
        config.write_text(kubeconfig_of(server.url, server.token(home, account)))
        config_of_cluster = yaml.safe_load(config.read_text())
        config_of_cluster["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
        config.write_text(yaml.safe_dump(config_of_cluster))
        flags = ["--namespaces", team, "--namespace", home, "--identity", account]
        with log.open("w") as output:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", *arguments, *flags],
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=os.environ | {"KUBECONFIG": str(config)},
                )
            )
        return log

    yield starts
    for process in processes:
        process.kill()
        process.wait()


def state(server: Server, namespace: str, name: str) -> str:
    stored = server.request("GET", f"{collection('workflows', namespace)}/{name}").expect(200)
    return str(stored.get("status", {}).get("state", ""))


def test_a_confined_installation_runs_workflows_of_its_namespaces_alone(
    server: Server, team: str, namespace: str, start: Callable[..., Path], tmp_path: Path
) -> None:
    body = manifest(
        "Workflow",
        "run",
        {"tasks": [{"name": "pause", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}]},
    )
    for each in (team, namespace):
        server.create("workflows", each, body).expect(201)
    liveness = f"http://127.0.0.1:{free_port()}/healthz"
    logs = [
        start(
            "torpor-operator",
            "torpor_operator",
            "--liveness",
            liveness,
            "--metrics-port",
            "0",
            "--state-folder",
            str(tmp_path),
        ),
        start("torpor-triggerer", "torpor_triggerer", "--health-port", "0"),
    ]
    eventually(lambda: state(server, team, "run") == "Succeeded", "the run of the team has ended")
    assert state(server, namespace, "run") == "", "no component sees the other namespace"
    for log in logs:
        assert "Traceback" not in log.read_text()
        assert "is forbidden" not in log.read_text()


def test_an_operator_leaves_a_namespace_of_another_installation_alone(
    server: Server, team: str, start: Callable[..., Path], tmp_path: Path
) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{team}/leases"
    held = {"holderIdentity": "elsewhere", "leaseDurationSeconds": 60, "renewTime": "2026-01-01T00:00:00.000000Z"}
    server.request("DELETE", f"{lease}/{constants.INSTALLATION_LEASE}")
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": constants.INSTALLATION_LEASE}}
    server.request("POST", lease, body | {"spec": held}).expect(201)
    ask = {"name": "ask", "trigger": {"class": "approval"}}
    server.create("workflows", team, manifest("Workflow", "shared", {"tasks": [ask]})).expect(201)
    liveness = f"http://127.0.0.1:{free_port()}/healthz"
    start("torpor-operator", "torpor_operator", "--liveness", liveness, "--state-folder", str(tmp_path))
    eventually(lambda: "NamespaceServedElsewhere" in event_reasons(server, team), "an Event reports the overlap")
    assert state(server, team, "shared") == ""
    server.request("DELETE", f"{lease}/{constants.INSTALLATION_LEASE}").expect(200)
    eventually(lambda: state(server, team, "shared") == "Running", "the operator serves the namespace")
    taken = server.request("GET", f"{lease}/{constants.INSTALLATION_LEASE}").expect(200)
    assert taken["spec"]["holderIdentity"] != "elsewhere"


def event_reasons(server: Server, namespace: str) -> set[str]:
    listed = server.request("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events").expect(200)
    return {event["reason"] for event in listed["items"]}


@pytest.mark.attack
@pytest.mark.parametrize("account", _ACCOUNTS)
def test_a_confined_component_may_write_nothing_in_other_namespaces(server: Server, home: str, account: str) -> None:
    user = f"system:serviceaccount:{home}:{account}"
    rights = {
        (group, resource, verb)
        for rule in server.rules(user, "default")
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    written = {(group, resource) for group, resource, verb in rights if verb not in ("get", "list", "watch")}
    # What every account may do: ask who it is and what it may.
    assert {group for group, _ in written} <= {"authorization.k8s.io", "authentication.k8s.io"}


@pytest.mark.parametrize("account", _ACCOUNTS)
def test_a_confined_component_lists_nothing_in_other_namespaces(
    server: Server, home: str, team: str, account: str
) -> None:
    token = server.token(home, account)
    for plural in ("pods", "taskruns", "workflows"):
        own = collection(plural, team)
        for other in (own.replace(team, "default"), own.replace(f"/namespaces/{team}", "")):
            assert server.request("GET", other, token=token).status == 403, other
        server.request("GET", own, token=token).expect(200)

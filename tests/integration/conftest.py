"""A real API server with Torpor's kinds, policies and roles installed, and a namespace for each test.

TORPOR_KUBECONFIG names a cluster to use as it is; without it etcd and an API server are started as plain processes, in
the state folder TORPOR_CONTROL_PLANE of the cache where that is set.
Nothing here runs pods: a Pod is an object whose name and uid a token can be bound to.
"""

import json
import os
import ssl
import time
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
import urllib3
import yaml
from torpor_kubernetes.client import decoding
from torpor_wire import constants

from tests.integration import readiness
from tests.support.users import Users

ROOT = Path(__file__).resolve().parents[2]
_PLURALS = {
    "Namespace": "namespaces",
    "CustomResourceDefinition": "customresourcedefinitions",
    "ServiceAccount": "serviceaccounts",
    "Secret": "secrets",
    "ConfigMap": "configmaps",
    "Service": "services",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "NetworkPolicy": "networkpolicies",
    "ResourceQuota": "resourcequotas",
    "PriorityClass": "priorityclasses",
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "ResourceFlavor": "resourceflavors",
    "WorkloadPriorityClass": "workloadpriorityclasses",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
}
_BINDINGS_OF_EARLIER_VERSIONS = (
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/torpor-triggerer-watch",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/torpor-door",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/torpor-fence",
)
"""What the manifests had once: an API server that was installed with them still has it."""
_PATCHES = {"json": "application/json-patch+json", "apply": "application/apply-patch+yaml"}
# For a machine that is busy with other work: only a test that fails waits for so long.
_TIMEOUT = 180.0
# As every client of Kubernetes does: a kind whose storage is being set up anew is answered with 429 and Retry-After.
_ASK_AGAIN = urllib3.Retry(10, connect=0, read=0, redirect=0, other=0, allowed_methods=None, raise_on_status=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server said."""

    status: int
    body: dict[str, Any]
    warnings: Sequence[str] = ()

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> list[dict[str, str]]:
        return (self.body.get("details") or {}).get("causes") or []

    def expect(self, status: int) -> dict[str, Any]:
        assert self.status == status, f"{self.status}: {self.message}"
        return self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The API server as its administrator, or as the user of a token."""

    url: str
    administrator: urllib3.PoolManager
    stranger: urllib3.PoolManager

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        content_type: str = "application/json",
        **query: str,
    ) -> Answer:
        headers = {"Content-Type": content_type} | ({"Authorization": f"Bearer {token}"} if token else {})
        pool = self.stranger if token else self.administrator
        url = self.url + path + ("?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else "")
        content = None if body is None else json.dumps(body)
        response = pool.request(method, url, body=content, headers=headers, timeout=_TIMEOUT, retries=_ASK_AGAIN)
        warnings = response.headers.getlist("Warning")
        return Answer(status=response.status, body=decoding.decode(response.data), warnings=warnings)

    def create(self, kind: str, namespace: str, body: Mapping[str, Any], **query: str) -> Answer:
        return self.request("POST", collection(kind, namespace), body, **query)

    def patch_status(
        self, namespace: str, name: str, patch: Sequence[Mapping[str, Any]], *, token: str | None = None, **query: str
    ) -> Answer:
        path = f"{collection('taskruns', namespace)}/{name}/status"
        query = {"fieldManager": constants.FIELD_MANAGER} | query
        return self.request("PATCH", path, list(patch), token=token, content_type=_PATCHES["json"], **query)

    def apply(self, document: Mapping[str, Any]) -> None:
        """Create or change an object. A binding is applied once the authorizer knows it."""
        api_version, metadata = document["apiVersion"], document["metadata"]
        prefix = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        scope = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        path = f"{prefix}{scope}/{_PLURALS[document['kind']]}/{metadata['name']}"
        query = {"fieldManager": "torpor-tests", "force": "true"}
        answer = self.request("PATCH", path, document, content_type=_PATCHES["apply"], **query)
        assert answer.status in (200, 201), f"{path}: {answer.message}"
        if "roleRef" in document:
            eventually(lambda: readiness.is_granted(self, document), f"{path} is granted")

    def rules(self, user: str, namespace: str) -> list[dict[str, Any]]:
        """What the authorizer lets a user do with objects of a namespace."""
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
        text = json.dumps(body | {"spec": {"namespace": namespace}})
        headers = {"Content-Type": "application/json", "Impersonate-User": user}
        response = self.administrator.request("POST", self.url + path, body=text, headers=headers, retries=_ASK_AGAIN)
        return list(Answer(status=response.status, body=response.json()).expect(201)["status"]["resourceRules"])

    def token(
        self, namespace: str, account: str, *, pod: Mapping[str, Any] | None = None, audience: str | None = None
    ) -> str:
        """A token of the service account, bound to the pod if one is given; for the API server, or for an audience."""
        whose = pod and {key: pod["metadata"][key] for key in ("name", "uid")}
        bound = {"apiVersion": "v1", "kind": "Pod", **whose} if whose else None
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": bound}}
        if audience:
            body["spec"] = {"boundObjectRef": bound, "audiences": [audience]}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        return str(self.request("POST", path, body).expect(201)["status"]["token"])


def collection(plural: str, namespace: str) -> str:
    """The path of all objects of a kind in a namespace."""
    prefix = "/api/v1" if plural in ("pods", "secrets", "configmaps") else "/apis/torpor.dev/v1alpha1"
    return f"{prefix}/namespaces/{namespace}/{plural}"


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Ask until it holds: the API server takes in new kinds, policies and roles a moment after they are written."""
    deadline = time.monotonic() + _TIMEOUT
    while not holds():
        assert time.monotonic() < deadline, f"after {_TIMEOUT:.0f} s still not: {what}"
        time.sleep(0.1)


def install(server: Server, manifest: str = "") -> None:
    """Install everything of ours but the Deployments, and wait until the API server acts on it.

    `manifest`: the YAML of another version.
    """
    installed = list(yaml.safe_load_all(manifest or (ROOT / "manifests/install.yaml").read_text()))
    documents = [document for document in installed if document["kind"] != "Deployment"]
    policy, last = readiness.marker(documents)
    for path in _BINDINGS_OF_EARLIER_VERSIONS:
        assert server.request("DELETE", path).status in (200, 404), path
    for document in [*documents, *last]:
        server.apply(document)
    eventually(lambda: readiness.are_served(server, documents), "the kinds are served")
    eventually(lambda: readiness.is_in_force(server, policy), "the policies are in force")
    eventually(lambda: readiness.are_aggregated(server, documents), "the roles are aggregated")
    for document in documents:
        if "roleRef" in document:
            eventually(lambda one=document: readiness.is_granted(server, one), "the roles are granted")  # type: ignore[misc]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests beside this file, which need an API server; those in `attacks` are attacks."""
    here = f"{Path(__file__).parent}{os.sep}"
    attacks = f"{here}attacks{os.sep}"
    for item in items:
        path = str(item.path)
        if path.startswith(here):
            item.add_marker(pytest.mark.integration)
        if path.startswith(attacks):
            item.add_marker(pytest.mark.attack)


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    """The kubeconfig of the API server under test."""
    named = os.environ.get("TORPOR_KUBECONFIG")
    if named:
        return Path(named)
    from torpor_dev import cache, control_plane  # noqa: PLC0415  (a cluster that is named needs none of it)

    state = os.environ.get("TORPOR_CONTROL_PLANE")
    return control_plane.start(cache.folder(state) if state else control_plane.default_state())


@pytest.fixture(scope="session")
def server(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """The API server with everything of ours installed but the Deployments, once for all processes of a test run."""
    server = _connect(kubeconfig)
    with Users.of_run(tmp_path_factory, "installed").joined() as first:
        if first:
            install(server)
    return server


@pytest.fixture(scope="session")
def open_namespace(server: Server) -> Iterator[Callable[[], str]]:
    """Makes namespaces in which workflows may run; all are deleted at the end."""
    opened: list[str] = []

    def opens() -> str:
        name = f"test-{uuid.uuid4().hex[:10]}"
        opened.append(name)
        for document in yaml.safe_load_all(_namespace_manifest(name)):
            server.apply(document)
        return name

    yield opens
    for name in opened:
        server.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def namespace(open_namespace: Callable[[], str]) -> str:
    """A namespace of the test's own."""
    return open_namespace()


def _namespace_manifest(name: str) -> str:
    files = ("namespace.yaml", "operator.yaml", "triggerer.yaml", "archive.yaml", "task.yaml")
    texts = [(ROOT / "manifests/namespace" / file).read_text() for file in files]
    return (
        "\n---\n".join(texts)
        .replace("name: workflows", f"name: {name}")
        .replace("namespace: workflows", f"namespace: {name}")
    )


def _connect(kubeconfig: Path) -> Server:
    config = yaml.safe_load(kubeconfig.read_text())
    chosen = next(each["context"] for each in config["contexts"] if each["name"] == config["current-context"])
    cluster = next(each["cluster"] for each in config["clusters"] if each["name"] == chosen["cluster"])
    user = next(each["user"] for each in config["users"] if each["name"] == chosen["user"])
    authority = _content(cluster, "certificate-authority", kubeconfig)
    return Server(
        url=cluster["server"],
        administrator=urllib3.PoolManager(ssl_context=_tls(authority, user, kubeconfig)),
        stranger=urllib3.PoolManager(ssl_context=ssl.create_default_context(cadata=authority)),
    )


def _tls(authority: str, user: Mapping[str, str], kubeconfig: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority)
    with NamedTemporaryFile("w", suffix=".pem") as pem:
        pem.write(_content(user, "client-certificate", kubeconfig) + "\n" + _content(user, "client-key", kubeconfig))
        pem.flush()
        context.load_cert_chain(pem.name)
    return context


def _content(entry: Mapping[str, str], key: str, kubeconfig: Path) -> str:
    inline = entry.get(f"{key}-data")
    return b64decode(inline).decode() if inline else (kubeconfig.parent / entry[key]).read_text()

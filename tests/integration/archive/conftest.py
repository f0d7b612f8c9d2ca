"""Fixtures: the archive with each kind of database, and its clients with real tokens."""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from torpor_wire import constants

from tests.integration.archive import databases
from tests.integration.archive.databases import Postgresql, Sqlite
from tests.integration.archive.process import ArchiveProcess, Body, ReplicaResponse
from tests.integration.conftest import Server, collection
from tests.integration.policies.transitions.conftest import create_pod, set_fields
from tests.support.manifests import manifest

_INSTALLED = Path(__file__).resolve().parents[3] / "manifests/install.yaml"
_RBAC = "rbac.authorization.k8s.io"
MakeDatabase: TypeAlias = Callable[[], Sqlite | Postgresql]
MakeArchive: TypeAlias = Callable[..., ArchiveProcess]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTask:
    """A Running TaskRun, and the token of the pod that claimed it."""

    namespace: str
    name: str
    uid: str
    workflow: str
    token: str

    @property
    def result(self) -> str:
        return f"/v1/namespaces/{self.namespace}/taskruns/{self.name}/result"

    def address(self, digest: str) -> str:
        return f"/v1/namespaces/{self.namespace}/results/{self.uid}/{digest}"

    def put(self, archive: ArchiveProcess, kind: str, body: Body, **headers: str) -> ReplicaResponse:
        content_type = {
            "list": "application/x-ndjson",
            "object": "application/x-ndjson",
            "bytes": OCTETS,
            "file": OCTETS,
        }
        sent = {"Content_Type": content_type.get(kind, "application/json"), "Torpor_Type": kind} | headers
        return archive.request("PUT", self.result, self.token, body, **sent)

    def get(self, archive: ArchiveProcess, path: str) -> ReplicaResponse:
        return archive.request("GET", path, self.token, Torpor_TaskRun=self.name)

    def retry(self, server: Server) -> "ArchiveTask":
        """Start the next attempt, claimed by another pod."""
        pod = create_pod(server, self.namespace, f"{self.name}-a2-s0")
        mine = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "d"}
        for fields in (
            {"state": "UpForRetry"},
            {"state": "Scheduled", "attempt": 2},
            {"state": "Running", "pod": mine},
        ):
            server.patch_status(self.namespace, self.name, set_fields(**fields)).expect(200)
        return replace(
            self, token=server.token(self.namespace, "torpor-task", pod=pod, audience=constants.ARCHIVE_AUDIENCE)
        )


OCTETS = "application/octet-stream"


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def make_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeDatabase]:
    """Create empty databases of one kind."""

    def name() -> str:
        return f"archive_{uuid.uuid4().hex[:8]}"

    folder = tmp_path_factory.mktemp("databases")
    if request.param == "sqlite":
        yield lambda: databases.make(None, name(), folder)
        return
    with databases.postgresql() as server:
        yield lambda: databases.make(server, name(), folder)


@pytest.fixture(scope="session")
def make_archive(
    server: Server, kubeconfig: Path, open_namespace: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeArchive]:
    """Start replicas of one installation, which stop after the session."""
    folder = tmp_path_factory.mktemp("archive")
    namespace = _install(server, open_namespace())
    identity = _write_kubeconfig(server, kubeconfig, folder)
    made: list[ArchiveProcess] = []

    def authority() -> str:
        path = f"{collection('configmaps', namespace)}/torpor-archive"
        published = server.request("GET", path).expect(200).get("data") or {}  # the archive writes it after its start
        return str(published.get("ca.crt", ""))

    def make(database: Sqlite | Postgresql, *flags: str) -> ArchiveProcess:
        archive = ArchiveProcess(
            folder=folder, kubeconfig=identity, namespace=namespace, database=database, authority=authority
        )
        made.append(archive)
        archive.start(*flags)
        return archive

    yield make
    for archive in made:
        archive.kill()


@pytest.fixture(scope="session")
def archive(make_database: MakeDatabase, make_archive: MakeArchive) -> ArchiveProcess:
    """One replica per kind of database."""
    return make_archive(make_database()).ready()


@pytest.fixture(scope="session")
def task_in(server: Server) -> Callable[..., ArchiveTask]:
    """Create a Running TaskRun of a Workflow in a namespace."""

    def make(namespace: str, workflow: str = "w", **status: Any) -> ArchiveTask:
        name = f"t-{uuid.uuid4().hex[:8]}"
        spec = {
            "workflow": {"name": "run", "uid": workflow},
            "task": "task",
            "image": "x",
            "container": {"command": ["run"], "outcome": True},
        }
        body = manifest("TaskRun", name, spec)
        uid = server.create("taskruns", namespace, body).expect(201)["metadata"]["uid"]
        pod = create_pod(server, namespace, f"{name}-a1-s0")
        mine = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "c"}
        server.patch_status(namespace, name, set_fields(state="Running", pod=mine)).expect(200)
        if status:
            server.patch_status(namespace, name, set_fields(**status)).expect(200)
        token = server.token(namespace, "torpor-task", pod=pod, audience=constants.ARCHIVE_AUDIENCE)
        return ArchiveTask(namespace=namespace, name=name, uid=uid, workflow=workflow, token=token)

    return make


@pytest.fixture(scope="session")
def home(open_namespace: Callable[[], str]) -> str:
    """The namespace of the Workflows, shared by all tests."""
    return open_namespace()


@pytest.fixture
def task(task_in: Callable[..., ArchiveTask], home: str) -> ArchiveTask:
    """A task for one test."""
    return task_in(home, uuid.uuid4().hex)


def account(server: Server, namespace: str, name: str, role: str) -> str:
    """Create a ServiceAccount with a ClusterRole in the namespace, and return its token for the archive."""
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
    server.apply(
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
    )
    return server.token(namespace, name, audience=constants.ARCHIVE_AUDIENCE)


def _install(server: Server, namespace: str) -> str:
    """Install the archive's objects into a test namespace, so that a real installation stays unchanged."""
    for document in yaml.safe_load_all(_INSTALLED.read_text()):
        kind, metadata = document["kind"], document["metadata"]
        names = {"torpor-archive", "torpor-archive-reader"}
        if metadata["name"] in names and kind in ("Secret", "ConfigMap", "Role", "RoleBinding"):
            server.apply(document | {"metadata": {"name": metadata["name"], "namespace": namespace}})
    return namespace


def _write_kubeconfig(server: Server, kubeconfig: Path, folder: Path) -> Path:
    """Write a kubeconfig of the archive's ServiceAccount."""
    config = yaml.safe_load(kubeconfig.read_text())
    for each in config["clusters"]:
        if "certificate-authority" in each["cluster"]:
            each["cluster"]["certificate-authority"] = str(kubeconfig.parent / each["cluster"]["certificate-authority"])
    token = server.token("torpor-system", "torpor-archive")
    config["users"] = [{"name": each["name"], "user": {"token": token}} for each in config["users"]]
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path

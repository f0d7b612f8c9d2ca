"""Reads the facts from the cluster, each with one request that may be refused."""

import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from torpor_wire import constants

from torpor_cli.cluster.api import PAGE
from torpor_cli.cluster.archive import ArchiveAwayError, ArchiveProxy, system_namespace
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ClusterError, ForbiddenError, NotFoundError
from torpor_cli.cluster.http import pages
from torpor_cli.cluster.resources import PODS, SELF_ACCESS_REVIEWS, TASKRUNS, WORKFLOWS, ApiResource
from torpor_cli.diagnosis.facts import DiagnosisFacts, Item, Items, Object, UnreadableFact
from torpor_cli.errors import CliError

_RIGHTS = (
    ("list", constants.GROUP, "workflows", ""),
    ("list", constants.GROUP, "taskruns", ""),
    ("get", "", "pods", "log"),
    ("create", constants.GROUP, "workflows", ""),
    ("delete", constants.GROUP, "taskruns", ""),
)
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_THREADS = 6
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_ROLES = "/apis/rbac.authorization.k8s.io/v1"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces"


def observe(cluster: ClusterConnection, *, chosen: bool) -> DiagnosisFacts:
    """Read everything. Raises ClusterError if the cluster cannot be reached at all."""
    reader = _FactReader(cluster)
    sent = time.time()
    kubernetes, server_time = reader.version()
    local_time = (sent + time.time()) / 2
    namespace = cluster.namespace
    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        reads: dict[str, Future[Any]] = {
            "schemas": pool.submit(reader.schemas),
            "rights": pool.submit(reader.rights, namespace),
            "archive": pool.submit(reader.archive, namespace),
        }
        deleted = pool.submit(reader.deleted, namespace)
        reads |= {name: pool.submit(reader.items, path, right, {}) for name, (path, right) in _lists(namespace).items()}
        reads |= {name: pool.submit(reader.item, path, right) for name, (path, right) in _objects(namespace).items()}
    deleted_items, everywhere = deleted.result()
    return DiagnosisFacts(
        command=version("kubectl-torpor"),
        local_time=local_time,
        server_time=server_time or local_time,
        kubernetes=kubernetes,
        namespace=namespace,
        chosen=chosen,
        system=system_namespace(),
        deleted=deleted_items,
        everywhere=everywhere,
        **{name: read.result() for name, read in reads.items()},
    )


def _lists(namespace: str) -> dict[str, tuple[str, str]]:
    """The path of each list, by its name in DiagnosisFacts, and the right that reading it needs."""
    system = system_namespace()
    return {
        "workflows": (WORKFLOWS.path(namespace), "list workflows"),
        "policies": (f"{_ADMISSION}/validatingadmissionpolicies", "list validatingadmissionpolicies"),
        "bindings": (f"{_ADMISSION}/validatingadmissionpolicybindings", "list validatingadmissionpolicybindings"),
        "deployments": (f"/apis/apps/v1/namespaces/{system}/deployments", f"list deployments in {system}"),
        "leases": (f"{_LEASES}/{system}/leases", f"list leases in {system}"),
        "node_leases": (f"{_LEASES}/kube-node-lease/leases", "list leases in kube-node-lease"),
        "nodes": ("/api/v1/nodes", "list nodes"),
        "network_policies": (
            f"/apis/networking.k8s.io/v1/namespaces/{system}/networkpolicies",
            f"list networkpolicies in {system}",
        ),
        "daemon_sets": ("/apis/apps/v1/daemonsets", "list daemonsets in all namespaces"),
        "role_bindings": (
            f"{_ROLES}/namespaces/{namespace}/rolebindings",
            f"list rolebindings in namespace {namespace}",
        ),
    }


def _objects(namespace: str) -> dict[str, tuple[str, str]]:
    """The path of each object, likewise."""
    base = f"/api/v1/namespaces/{namespace}"
    return {
        "view": (f"{_ROLES}/clusterroles/view", "get clusterroles"),
        "edit": (f"{_ROLES}/clusterroles/edit", "get clusterroles"),
        "namespace_object": (base, "get namespaces"),
        "installation": (
            f"{_LEASES}/{namespace}/leases/{constants.INSTALLATION_LEASE}",
            f"get leases in namespace {namespace}",
        ),
        "task_account": (
            f"{base}/serviceaccounts/{constants.TASK_ACCOUNT}",
            f"get serviceaccounts in namespace {namespace}",
        ),
    }


class _FactReader:
    """Requests whose refusal is a fact."""

    def __init__(self, cluster: ClusterConnection) -> None:
        self._api = cluster.api

    def version(self) -> tuple[str, float]:
        """Return the version of Kubernetes, and the time of the server. Raises ClusterError."""
        response = self._api.http.request("GET", "/version")
        version_found: dict[str, Any] = response.json()
        date = response.headers.get("Date")
        return str(version_found.get("gitVersion")), parsedate_to_datetime(date).timestamp() if date else 0.0

    def item(self, path: str, right: str) -> Item:
        """Return an object, None if it does not exist."""
        try:
            body: Object = self._api.http.json("GET", path)
        except NotFoundError:
            return None
        except ClusterError as error:
            return _unreadable(error, right)
        return body

    def items(self, path: str, right: str, query: Mapping[str, str], accept: str = "application/json") -> Items:
        """Return all objects of a list."""
        items: list[Object] = []
        parts, headers = {**query, "limit": str(PAGE)}, {"Accept": accept}
        try:
            for page in pages(lambda more: self._api.http.json("GET", path, query={**parts, **more}, headers=headers)):
                items += page.get("items") or ()
        except NotFoundError:
            return items
        except ClusterError as error:
            return _unreadable(error, right)
        return items

    def schemas(self) -> Mapping[str, Object] | UnreadableFact:
        """Return the schemas that the server publishes of Torpor's kinds."""
        document = self.item(f"/openapi/v3/apis/{constants.API_VERSION}", "get /openapi/v3")
        if document is None:
            return {}
        if isinstance(document, UnreadableFact):
            return document
        schemas = document.get("components", {}).get("schemas", {})
        return {name.rpartition(".")[2]: schema for name, schema in schemas.items() if name.startswith("dev.torpor.")}

    def rights(self, namespace: str) -> Mapping[str, bool]:
        """Return which rights the user has in the namespace."""
        allowed: dict[str, bool] = {}
        for verb, group, resource, subresource in _RIGHTS:
            attributes = {"namespace": namespace, "verb": verb, "group": group, "resource": resource}
            body = {
                "apiVersion": SELF_ACCESS_REVIEWS.api_version,
                "kind": SELF_ACCESS_REVIEWS.kind,
                "spec": {"resourceAttributes": {**attributes, "subresource": subresource}},
            }
            try:
                answer = self._api.http.json("POST", SELF_ACCESS_REVIEWS.path(), body=body)
            except ClusterError:
                continue
            name = f"{verb} {resource}/{subresource}" if subresource else f"{verb} {resource}"
            allowed[name] = bool((answer.get("status") or {}).get("allowed"))
        return allowed

    def archive(self, namespace: str) -> str | UnreadableFact | None:
        """Return why the archive cannot be read."""
        try:
            next(ArchiveProxy(self._api).runs(namespace, {"name": "torpor-doctor"}), None)
        except ArchiveAwayError as error:
            forbidden = isinstance(error.__cause__, ForbiddenError)
            return UnreadableFact(right="", why=str(error)) if forbidden else str(error)
        except CliError as error:
            return str(error)
        return None

    def deleted(self, namespace: str) -> tuple[Items, bool]:
        """Return the metadata of what is being deleted, in all namespaces if the user may list them."""
        everywhere = self._deleted(None)
        return (self._deleted(namespace), False) if isinstance(everywhere, UnreadableFact) else (everywhere, True)

    def _deleted(self, namespace: str | None) -> Items:
        items: list[Object] = []
        for resource in (WORKFLOWS, TASKRUNS, PODS):
            listed = self._metadata(resource, namespace)
            if isinstance(listed, UnreadableFact):
                return listed
            items += [
                item | {"kind": resource.kind} for item in map(dict, listed) if "deletionTimestamp" in item["metadata"]
            ]
        return items

    def _metadata(self, resource: ApiResource, namespace: str | None) -> Items:
        query = {"labelSelector": constants.LABEL_TASKRUN_UID} if resource is PODS else {}
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        return self.items(resource.path(namespace), f"list {resource.plural} {where}", query, _METADATA)


def _unreadable(error: ClusterError, right: str) -> UnreadableFact:
    denied = error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}
    return UnreadableFact(right=right, why="" if denied else str(error))

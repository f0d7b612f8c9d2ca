"""Imports a Workflow that was exported with `kubectl get -o json`, or as Velero does it."""

from typing import Any

from tests.integration.conftest import collection
from tests.integration.faults.installation import ProcessInstallation

Object = dict[str, Any]
_MERGE = "application/merge-patch+json"
_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "finalizers")


def import_object(installation: ProcessInstallation, namespace: str, body: Object, *, with_status: bool) -> None:
    """Create an exported Workflow, and write its status to the status subresource."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in _OF_THE_SERVER}
    created = body | {"metadata": metadata | {"namespace": namespace}}
    stored = created.pop("status", None)
    installation.request("POST", collection("workflows", namespace), created).expect(201)
    if with_status and stored is not None:
        path = f"{collection('workflows', namespace)}/{metadata['name']}/status"
        installation.request("PATCH", path, {"status": stored}, content_type=_MERGE).expect(200)

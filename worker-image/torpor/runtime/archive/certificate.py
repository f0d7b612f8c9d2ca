"""Reads the certificate of the archive from ConfigMap torpor-archive, which every account of the cluster may read.

Few pods need it, so it is not in the environment of all.
"""

from torpor_wire import constants

from torpor.errors import UnreadableError
from torpor.runtime import status_patch
from torpor.runtime.http import WorkerTransport


def read(transport: WorkerTransport, namespace: str, retry_policy: status_patch.RetryPolicy) -> str:
    """Return the certificate in PEM. `namespace` is that of the ConfigMap. Raises UnreadableError."""
    name = f"ConfigMap {namespace}/{constants.ARCHIVE_CONFIG}"
    path = f"/api/v1/namespaces/{namespace}/configmaps/{constants.ARCHIVE_CONFIG}"
    match status_patch.read(transport, path, retry_policy):
        case status_patch.WriteStored(body):
            certificate = (body.get("data") or {}).get(constants.ARCHIVE_CERTIFICATE)
            if certificate:
                return str(certificate)
            message = f"it has no {constants.ARCHIVE_CERTIFICATE}"
        case status_patch.WriteRefused(message) | status_patch.Indeterminate(message):
            pass
        case status_patch.WriteLost():
            message = "HTTP 422"
    raise UnreadableError(f"the certificate of the archive cannot be read from {name}: {message}")

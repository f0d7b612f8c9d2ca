"""Reads the certificate of the archive from ConfigMap torpor-archive, which every account of the cluster may read.

Few pods need it, so it is not in the environment of all.
"""

from torpor_wire import constants

from torpor.errors import UnreadableError
from torpor.runtime import status_patch
from torpor.runtime.http import Exchange


def read(exchange: Exchange, namespace: str, retry_policy: status_patch.RetryPolicy) -> str:
    """Return the certificate in PEM. `namespace` is that of the ConfigMap. Raises UnreadableError."""
    name = f"ConfigMap {namespace}/{constants.ARCHIVE_CONFIG}"
    path = f"/api/v1/namespaces/{namespace}/configmaps/{constants.ARCHIVE_CONFIG}"
    match status_patch.read(exchange, path, retry_policy):
        case status_patch.Stored(body):
            certificate = (body.get("data") or {}).get(constants.ARCHIVE_CERTIFICATE)
            if certificate:
                return str(certificate)
            message = f"it has no {constants.ARCHIVE_CERTIFICATE}"
        case status_patch.Refused(message) | status_patch.Unsettled(message):
            pass
        case status_patch.Lost():
            message = "HTTP 422"
    raise UnreadableError(f"the certificate of the archive cannot be read from {name}: {message}")

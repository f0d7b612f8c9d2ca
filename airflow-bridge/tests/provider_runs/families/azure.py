"""Rows of Azure's blob storage, the one service of Azure whose client takes an address."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from provider_runs.families.web_row import WebRows
from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers
from provider_runs.servers.web import WebServer

_MISSING: tuple[int, dict[str, Any]] = (404, {})
_POKE = {"deferrable": True, "poke_interval": 1.0, "timeout": 300}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    wasb = WebRows(servers, "microsoft.azure", "wasb_conn_id", _connection)
    yield wasb.row(
        "microsoft.azure.sensors.wasb.WasbBlobSensor",
        {"container_name": "reports", "blob_name": "one.csv", **_POKE},
        {"HEAD /account/reports/one.csv": [_MISSING, _MISSING, {}]},
        defers=["WasbBlobSensorTrigger"],
    )
    yield wasb.row(
        "microsoft.azure.sensors.wasb.WasbPrefixSensor",
        {"container_name": "reports", "prefix": "day/", **_POKE},
        {"GET /account/reports": [_listed(), _listed(), _listed("day/one.csv")]},
        defers=["WasbPrefixSensorTrigger"],
    )


def _connection(server: WebServer) -> Mapping[str, Any]:
    key = base64.b64encode(b"torpor").decode()
    endpoint = f"{server.url}/account"
    text = f"DefaultEndpointsProtocol=http;AccountName=account;AccountKey={key};BlobEndpoint={endpoint};"
    return {"conn_type": "wasb", "extra": {"connection_string": text}}


def _listed(*names: str) -> str:
    blobs = "".join(
        f"<Blob><Name>{name}</Name><Properties><BlobType>BlockBlob</BlobType></Properties></Blob>" for name in names
    )
    attributes = 'ServiceEndpoint="http://127.0.0.1/" ContainerName="reports"'
    return f"<EnumerationResults {attributes}><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>"

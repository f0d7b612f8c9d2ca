"""Rows of Google Cloud Storage and BigQuery, whose clients know the address of an emulator."""

import json
import os
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers

_POKE = {"deferrable": True, "poke_interval": 1.0, "timeout": 300}
_OBJECT = {"kind": "storage#object", "name": "one.csv", "bucket": "b", "size": "3"}
_MISSING = (404, {"error": {"code": 404, "message": "No such object"}})


def _listed(*names: str) -> dict[str, Any]:
    return {"kind": "storage#objects", "items": [{**_OBJECT, "name": name} for name in names]}


def _job(state: str) -> dict[str, Any]:
    reference = {"projectId": "p", "jobId": "airflow_job", "location": "US"}
    query = {"query": {"query": "SELECT 1", "useLegacySql": False}}
    return {
        "kind": "bigquery#job",
        "jobReference": reference,
        "status": {"state": state},
        "configuration": {**query, "jobType": "QUERY"},
        "statistics": {},
    }


_ANSWERS: dict[str, Any] = {
    "POST /token": {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"},
    "GET /storage/v1/b/exists/o/one.csv": [_MISSING, _MISSING, _OBJECT],
    "GET /storage/v1/b/updates/o/one.csv": {
        **_OBJECT,
        "updated": "2026-11-26T00:00:00.000Z",
        "timeCreated": "2026-11-26T00:00:00.000Z",
    },
    "GET /storage/v1/b/prefixes/o": [_listed(), _listed("day/one.csv")],
    "GET /storage/v1/b/uploads/o": _listed("day/one.csv"),
    "POST /bigquery/v2/projects/p/jobs": _job("RUNNING"),
    "GET /bigquery/v2/projects/p/jobs/airflow_job": [_job("RUNNING"), _job("RUNNING"), _job("DONE")],
}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows. All of them have one server, since the clients read its address when they are imported."""
    server = servers.web(_ANSWERS)
    os.environ["STORAGE_EMULATOR_HOST"] = server.url
    os.environ["BIGQUERY_EMULATOR_HOST"] = server.url
    extra = {"keyfile_dict": json.dumps(service_account(f"{server.url}/token")), "project": "p"}
    connections = {"google_one": json.dumps({"conn_type": "google_cloud_platform", "extra": extra})}

    def row(path: str, arguments: dict[str, Any], **given: Any) -> ProviderRow:
        return ProviderRow(
            family="google", path=f"google.cloud.{path}", arguments=arguments, connections=connections, **given
        )

    connected = {"google_cloud_conn_id": "google_one", **_POKE}
    yield row(
        "sensors.gcs.GCSObjectExistenceSensor",
        {"bucket": "exists", "object": "one.csv", **connected},
        defers=["GCSBlobTrigger"],
    )
    yield row(
        "sensors.gcs.GCSObjectsWithPrefixExistenceSensor",
        {"bucket": "prefixes", "prefix": "day/", **connected},
        defers=["GCSPrefixBlobTrigger"],
    )
    yield row(
        "triggers.gcs.GCSCheckBlobUpdateTimeTrigger",
        {
            "bucket": "updates",
            "object_name": "one.csv",
            "target_date": {"__type": "datetime", "__var": "2026-11-25T00:00:00+00:00"},
            "poke_interval": 1.0,
            "google_cloud_conn_id": "google_one",
            "hook_params": {},
        },
        is_trigger=True,
        result={"status": "success"},
    )
    yield row(
        "sensors.gcs.GCSUploadSessionCompleteSensor",
        {"bucket": "uploads", "prefix": "day/", "inactivity_period": 2, "min_objects": 1, **connected},
        defers=["GCSUploadSessionTrigger"],
    )
    yield row(
        "operators.bigquery.BigQueryInsertJobOperator",
        {
            "configuration": {"query": {"query": "SELECT 1", "useLegacySql": False}},
            "job_id": "airflow_job",
            "force_rerun": False,
            "project_id": "p",
            "location": "US",
            "gcp_conn_id": "google_one",
            "poll_interval": 1.0,
            "deferrable": True,
        },
        defers=["BigQueryInsertJobTrigger"],
    )


def service_account(token_uri: str) -> dict[str, str]:
    """Return the key of a service account that does not exist."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": written.decode(),
        "client_email": "torpor@p.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": token_uri,
    }

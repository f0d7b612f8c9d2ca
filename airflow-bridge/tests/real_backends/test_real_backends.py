"""Airflow's own secrets backends in pool and pod: AWS against moto, the others against servers as documented.

`make airflow-real` runs these tests: their providers are not part of the environment of the other tests.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sample_backend
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk import Connection
from airflow.sdk.configuration import clear_secrets_backends_cache
from airflow.sdk.exceptions import AirflowNotFoundException
from local_play import RULE, play
from sample_context import CONTEXT
from torpor_airflow.connections.user_backend import BackendFailedError
from torpor_airflow.operators import AirflowOperator

boto3 = pytest.importorskip("boto3")
pytest.importorskip("airflow.providers.hashicorp")

WEB = "http://ann:of-the-vault@server.example.org:8443/"
VARIABLES = {"region": "eu-1", "note": "also-of-the-vault"}
_VAULT = "airflow.providers.hashicorp.secrets.vault.VaultBackend"
_SECRETS_MANAGER = "airflow.providers.amazon.aws.secrets.secrets_manager.SecretsManagerBackend"
_PARAMETER_STORE = "airflow.providers.amazon.aws.secrets.systems_manager.SystemsManagerParameterStoreBackend"
_GOOGLE = "airflow.providers.google.cloud.secrets.secret_manager.CloudSecretManagerBackend"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendCase:
    """A backend whose server has the connection and the variables."""

    class_path: str
    kwargs: Mapping[str, Any]


def aws(stack: ExitStack, class_path: str) -> BackendCase:
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer  # noqa: PLC0415 - not installed everywhere

    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    stack.callback(server.stop)
    url = "http://{}:{}".format(*server.get_host_and_port())
    values = {"/airflow/connections/web": WEB} | {f"/airflow/variables/{key}": text for key, text in VARIABLES.items()}
    for name, value in values.items():
        if class_path == _PARAMETER_STORE:
            parameter = {"Name": name, "Value": value, "Type": "SecureString"}
            boto3.client("ssm", endpoint_url=url).put_parameter(**parameter)
        else:
            boto3.client("secretsmanager", endpoint_url=url).create_secret(Name=name, SecretString=value)
    prefixes = {"connections_prefix": "/airflow/connections", "variables_prefix": "/airflow/variables"}
    return BackendCase(class_path=class_path, kwargs={**prefixes, "endpoint_url": url, "region_name": "us-east-1"})


def vault(stack: ExitStack, token: str = "") -> BackendCase:
    from provider_runs.servers import vault as servers  # noqa: PLC0415

    secrets = {f"variables/{key}": {"value": text} for key, text in VARIABLES.items()}
    server = servers.VaultServer({"connections/web": {"conn_uri": WEB}, **secrets})
    stack.callback(server.close)
    kwargs = {"url": server.url, "token": token or servers.TOKEN, "mount_point": servers.MOUNT}
    return BackendCase(class_path=_VAULT, kwargs=kwargs)


def google(stack: ExitStack, monkeypatch: pytest.MonkeyPatch, folder: Path) -> BackendCase:
    import trustme  # noqa: PLC0415
    from google.cloud.secretmanager_v1 import SecretManagerServiceClient  # noqa: PLC0415
    from provider_runs.families import google as rows  # noqa: PLC0415
    from provider_runs.servers import secret_manager  # noqa: PLC0415
    from provider_runs.servers.web import WebServer  # noqa: PLC0415

    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(folder / "authority.pem"))
    issued = authority.issue_cert("127.0.0.1")
    secrets = {f"airflow-variables-{key}": text for key, text in VARIABLES.items()}
    server = secret_manager.SecretManagerServer(
        {"airflow-connections-web": WEB, **secrets},
        issued.private_key_pem.bytes(),
        b"".join(each.bytes() for each in issued.cert_chain_pems),
    )
    stack.callback(server.close)
    monkeypatch.setattr(SecretManagerServiceClient, "_DEFAULT_ENDPOINT_TEMPLATE", server.address)
    tokens = WebServer({"POST /token": {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}})
    stack.callback(tokens.close)
    account = rows.service_account(f"{tokens.url}/token")
    return BackendCase(class_path=_GOOGLE, kwargs={"gcp_keyfile_dict": account, "project_id": secret_manager.PROJECT})


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Servers end with the test, and Airflow forgets its backends."""
    with ExitStack() as servers:
        yield servers
    clear_secrets_backends_cache()


@pytest.fixture(scope="module", params=["secrets manager", "parameter store", "vault", "google"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackendCase]:
    """Each backend with its server. Clients of AWS and Google keep their state for the process."""
    with ExitStack() as servers, pytest.MonkeyPatch.context() as patch:
        match request.param:
            case "vault":
                yield vault(servers)
            case "google":
                yield google(servers, patch, tmp_path_factory.mktemp("google"))
            case "parameter store":
                yield aws(servers, _PARAMETER_STORE)
            case _:
                yield aws(servers, _SECRETS_MANAGER)


@pytest.fixture
def case(served: BackendCase, monkeypatch: pytest.MonkeyPatch) -> Iterator[BackendCase]:
    """A backend that Airflow uses in this test."""
    sample_backend.use_class(monkeypatch, served.class_path, served.kwargs)
    yield served
    clear_secrets_backends_cache()


def test_an_operator_finds_connection_and_variable(case: BackendCase) -> None:
    found = AirflowOperator(operator="sample_operators.SecretsOperator").execute(CONTEXT)
    assert found == ["server.example.org", "eu-1"], case.class_path


def test_a_connection_that_the_backend_does_not_have_is_not_defined(case: BackendCase) -> None:
    with pytest.raises(AirflowNotFoundException, match="`other` isn't defined"):
        Connection.get("other")
    assert Connection.get("web").password == "of-the-vault", case.class_path


@pytest.mark.parametrize("name", ["LookupTrigger", "AwaitingLookupTrigger"])
async def test_a_trigger_finds_connection_and_variable(case: BackendCase, tmp_path: Path, name: str) -> None:
    task = {"name": "ask", "trigger": {"class": f"sample_lookups.{name}", "kwargs": {"variable": "note"}}}
    rules = RULE | {"sample_lookups.**": "torpor_airflow.triggers.catalog:load_classes"}
    outcome = await play(tmp_path, task, rules=rules)
    assert outcome.results["ask"] == {"host": "server.example.org", "password": "***", "text": "***"}
    assert "of-the-vault" not in json.dumps(outcome.objects), case.class_path


def test_a_backend_that_refuses_the_token_is_named(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = vault(stack, "hvs.wrong")
    sample_backend.use_class(monkeypatch, refused.class_path, refused.kwargs)
    with pytest.raises(BackendFailedError, match=r"hashicorp\.secrets\.vault\.VaultBackend failed for connection web"):
        Connection.get("web")


def test_a_backend_that_cannot_be_reached_is_named(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = vault(stack)
    stack.close()
    sample_backend.use_class(monkeypatch, gone.class_path, gone.kwargs)
    with pytest.raises(BackendFailedError, match=r"vault\.VaultBackend failed for connection web: ConnectionError"):
        Connection.get("web")

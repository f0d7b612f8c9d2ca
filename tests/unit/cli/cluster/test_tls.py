import ssl
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.cluster.access import Access, Anonymous, Certificate, Pem, ServerEndpoint
from torpor_cli.cluster.http import HttpClient
from torpor_cli.errors import CliError
from torpor_dev import pki
from torpor_dev.pki import Pki

from tests.unit.cli.cluster.scripted_server import RecordedRequest, ScriptedResponse, scripted_server

_ELSEWHERE = "127.0.0.2"
"""An address of loopback that the server's certificate does not name."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return pki.create(tmp_path_factory.mktemp("pki"))


def server_context(keys: Pki, *, require: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys.path("apiserver.crt"), keys.path("apiserver.key"))
    if require:
        context.load_verify_locations(keys.path("ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def answered(
    keys: Pki, *, require: bool = False, address: str = "127.0.0.1", login: Any = None, **server: Any
) -> object:
    """The answer of a server with TLS."""

    def script(_: RecordedRequest) -> ScriptedResponse:
        return ScriptedResponse(body={"ok": 1})

    with scripted_server(script, tls=server_context(keys, require=require), address=address) as running:
        access = Access(server=ServerEndpoint(url=running.url, **server), login=login or Anonymous(), context="dev")
        return HttpClient(access).json("GET", "/x")


def test_the_ca_of_the_kubeconfig_is_trusted(keys: Pki) -> None:
    assert answered(keys, ca=Pem(path=keys.path("ca.crt"))) == {"ok": 1}
    assert answered(keys, ca=Pem(data=keys.path("ca.crt").read_bytes())) == {"ok": 1}


def test_a_client_certificate_logs_in(keys: Pki) -> None:
    login = Certificate(
        certificate=Pem(data=keys.path("admin.crt").read_bytes()), key=Pem(data=keys.path("admin.key").read_bytes())
    )
    assert answered(keys, require=True, login=login, ca=Pem(path=keys.path("ca.crt"))) == {"ok": 1}


def test_an_unknown_ca_is_one_line_with_what_to_do(keys: Pki) -> None:
    with pytest.raises(CliError, match=r"is not trusted \(context dev\); correct the CA in the kubeconfig"):
        answered(keys)


def test_the_name_in_the_certificate_may_be_given(keys: Pki) -> None:
    ca = Pem(path=keys.path("ca.crt"))
    assert answered(keys, address=_ELSEWHERE, ca=ca, server_name="kubernetes") == {"ok": 1}
    with pytest.raises(CliError, match="is not trusted"):
        answered(keys, address=_ELSEWHERE, ca=ca)


def test_insecure_trusts_every_certificate(keys: Pki) -> None:
    assert answered(keys, address=_ELSEWHERE, insecure=True) == {"ok": 1}


def test_a_certificate_that_cannot_be_read_is_an_error(keys: Pki, tmp_path: Path) -> None:
    with pytest.raises(CliError, match="a certificate of the kubeconfig cannot be read"):
        answered(keys, ca=Pem(path=tmp_path / "missing"))
    with pytest.raises(CliError, match="a certificate of the kubeconfig cannot be read"):
        answered(keys, ca=Pem(data=b"no PEM"))

import json
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.cluster import credentials
from torpor_cli.cluster.access import Basic, ExecPlugin, Token, TokenFile
from torpor_cli.errors import CliError


def plugin(tmp_path: Path, script: str, **fields: Any) -> ExecPlugin:
    path = tmp_path / "login"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return ExecPlugin(command=str(path), **fields)


def credential(**status: str) -> str:
    return f"echo '{json.dumps({'kind': 'ExecCredential', 'status': status})}'"


def test_a_token_is_a_bearer_token() -> None:
    credential = credentials.obtain(Token(token="t"))
    assert (credential.token, credential.authorization) == ("t", "Bearer t")
    assert "Bearer" not in repr(credential)


def test_a_token_file_is_read_without_its_newline(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    assert credentials.obtain(TokenFile(path=tmp_path / "token")).token == "t"


def test_a_missing_token_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="No such file"):
        credentials.obtain(TokenFile(path=tmp_path / "token"))


def test_a_password_is_basic_authorization() -> None:
    assert credentials.obtain(Basic(username="ann", password="p")).authorization == "Basic YW5uOnA="


def test_a_plugin_prints_a_token_and_receives_arguments_and_environment(tmp_path: Path) -> None:
    script = 'test "$1 $N" = "a v" && ' + credential(token="t")
    assert credentials.obtain(plugin(tmp_path, script, args=("a",), env={"N": "v"})).token == "t"


def test_a_plugin_receives_the_cluster_if_it_asks(tmp_path: Path) -> None:
    script = f"echo $KUBERNETES_EXEC_INFO > {tmp_path}/info; {credential(token='t')}"
    credentials.obtain(plugin(tmp_path, script, cluster={"server": "https://x"}, interactive=False))
    info = json.loads((tmp_path / "info").read_text())
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://x"}}


def test_a_plugin_may_print_a_certificate(tmp_path: Path) -> None:
    obtained = credentials.obtain(plugin(tmp_path, credential(clientCertificateData="c", clientKeyData="k")))
    assert obtained.certificate is not None
    assert (obtained.certificate.certificate.read(), obtained.token) == (b"c", None)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "ended with exit code 3"),
        ("echo hello", "printed no ExecCredential"),
        ("echo '{\"status\": {}}'", "neither a token nor a certificate"),
    ],
)
def test_a_plugin_that_fails_says_so_in_one_line(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(CliError, match=message):
        credentials.obtain(plugin(tmp_path, script))


def test_a_missing_plugin_shows_its_install_hint() -> None:
    with pytest.raises(CliError, match=r"is not on the PATH; see example\.org"):
        credentials.obtain(ExecPlugin(command="torpor-no-such-plugin", install_hint="see example.org"))

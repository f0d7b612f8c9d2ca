import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_cli.cluster import kubeconfig
from torpor_cli.cluster.access import (
    Anonymous,
    Basic,
    Certificate,
    ExecPlugin,
    Pem,
    Token,
    TokenFile,
)
from torpor_cli.errors import CliError
from torpor_cli.target import TargetOptions


def content(user: Mapping[str, Any], cluster: Mapping[str, Any] | None = None, name: str = "dev") -> dict[str, Any]:
    return {
        "current-context": name,
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": dict(user)}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
    }


def write(path: Path, value: Mapping[str, Any]) -> dict[str, str]:
    path.write_text(yaml.safe_dump(dict(value)))
    return {"KUBECONFIG": str(path)}


def data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("user", "login"),
    [
        ({}, Anonymous()),
        ({"token": "t"}, Token(token="t")),
        ({"username": "ann", "password": "p"}, Basic(username="ann", password="p")),
        (
            {"client-certificate-data": data("cert"), "client-key-data": data("key")},
            Certificate(certificate=Pem(data=b"cert"), key=Pem(data=b"key")),
        ),
        (
            {
                "exec": {
                    "command": "login",
                    "args": ["a"],
                    "env": [{"name": "N", "value": "v"}],
                    "interactiveMode": "Never",
                }
            },
            ExecPlugin(command="login", args=("a",), env={"N": "v"}, interactive=False),
        ),
    ],
)
def test_a_user_logs_in_as_its_entry_says(tmp_path: Path, user: dict[str, Any], login: object) -> None:
    assert kubeconfig.load(TargetOptions(), write(tmp_path / "config", content(user))).login == login


def test_paths_are_relative_to_the_file_that_has_them(tmp_path: Path) -> None:
    environment = write(
        tmp_path / "config", content({"tokenFile": "secret/token"}, {"certificate-authority": "ca.crt"})
    )
    config = kubeconfig.load(TargetOptions(), environment)
    assert config.login == TokenFile(path=tmp_path / "secret/token")
    assert config.server.ca == Pem(path=tmp_path / "ca.crt")


def test_a_plugin_with_a_path_is_relative_to_the_file_too(tmp_path: Path) -> None:
    environment = write(tmp_path / "config", content({"exec": {"command": "./login"}}))
    assert kubeconfig.load(TargetOptions(), environment).login == ExecPlugin(command=str(tmp_path / "login"))


def test_the_cluster_entry_says_how_to_trust_and_reach_the_server(tmp_path: Path) -> None:
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "kube", "proxy-url": "http://proxy:3128"}
    server = kubeconfig.load(TargetOptions(), write(tmp_path / "config", content({}, cluster))).server
    assert (server.url, server.insecure, server.server_name, server.proxy) == (
        "https://10.0.0.1:6443",
        True,
        "kube",
        "http://proxy:3128",
    )


def test_options_override_the_context(tmp_path: Path) -> None:
    environment = write(tmp_path / "config", content({"token": "t"}))
    config = kubeconfig.load(TargetOptions(namespace="other", as_user="bob", as_groups=("sre",)), environment)
    assert (config.namespace, config.as_user, config.as_groups) == ("other", "bob", ("sre",))
    assert kubeconfig.load(TargetOptions(), environment).namespace == "team"


def test_the_first_of_several_files_wins_and_all_contribute(tmp_path: Path) -> None:
    write(tmp_path / "one", content({"token": "one"}))
    second = content({"token": "two"}, name="prod")
    second["users"].append({"name": "v", "user": {"token": "three"}})
    second["contexts"][0]["context"]["user"] = "v"
    write(tmp_path / "two", second)
    environment = {"KUBECONFIG": f"{tmp_path / 'one'}:{tmp_path / 'missing'}:{tmp_path / 'two'}"}
    assert kubeconfig.load(TargetOptions(), environment).login == Token(token="one")
    assert kubeconfig.load(TargetOptions(context="prod"), environment).login == Token(token="three")


def test_an_unknown_context_suggests_the_nearest(tmp_path: Path) -> None:
    environment = write(tmp_path / "config", content({}, name="production"))
    with pytest.raises(CliError, match="there is no context 'prodution'; did you mean production"):
        kubeconfig.load(TargetOptions(context="prodution"), environment)


def test_a_file_without_contexts_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="the kubeconfig has no contexts; name another"):
        kubeconfig.load(TargetOptions(), write(tmp_path / "config", {"kind": "Workflow"}))


def test_without_a_kubeconfig_the_message_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="name one with --kubeconfig or KUBECONFIG"):
        kubeconfig.load(TargetOptions(), {"HOME": str(tmp_path)})


def test_a_kubeconfig_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="does not exist"):
        kubeconfig.load(TargetOptions(kubeconfig=str(tmp_path / "no")), {})


@pytest.mark.parametrize("text", ["[1, 2", "- a", "a: {b: *no}"])
def test_a_kubeconfig_that_is_no_mapping_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(CliError) as raised:
        kubeconfig.load(TargetOptions(), {"KUBECONFIG": str(tmp_path / "config")})
    assert "\n" not in str(raised.value)


def test_a_removed_auth_provider_names_its_replacement(tmp_path: Path) -> None:
    environment = write(tmp_path / "config", content({"auth-provider": {"name": "gcp"}}))
    with pytest.raises(CliError, match="use its exec plugin"):
        kubeconfig.load(TargetOptions(), environment)


def test_a_pod_uses_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "namespace").write_text("team\n")
    monkeypatch.setattr(kubeconfig, "_POD", tmp_path)
    environment = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = kubeconfig.load(TargetOptions(), environment)
    assert (config.server.url, config.namespace) == ("https://[fd00::1]:443", "team")
    assert config.login == TokenFile(path=tmp_path / "token")

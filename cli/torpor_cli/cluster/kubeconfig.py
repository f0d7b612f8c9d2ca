"""Reads kubeconfig files as kubectl does: several in KUBECONFIG, of which the first wins.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torpor_cli import errors
from torpor_cli.cluster.access import (
    Access,
    Anonymous,
    Basic,
    Certificate,
    ExecPlugin,
    Login,
    Pem,
    ServerEndpoint,
    Token,
    TokenFile,
)
from torpor_cli.target import TargetOptions

_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LISTS = ("clusters", "contexts", "users")
_ENTRIES = {"clusters": "cluster", "contexts": "context", "users": "user"}
_FOLDER = "torpor/folder"
"""Key that remembers the folder of the file an entry comes from, because its paths are relative to it."""


def load(target: TargetOptions, environment: Mapping[str, str]) -> Access:
    """Return the access that the options, the files and the environment describe. Raises CliError."""
    merged = merged_files(paths(target, environment))
    if merged is None and not target.context and "KUBERNETES_SERVICE_HOST" in environment:
        return _overridden(_in_pod(environment), target)
    if merged is None:
        raise errors.CliError("no kubeconfig found; name one with --kubeconfig or KUBECONFIG")
    return _overridden(_access(merged, target.context or merged["current-context"]), target)


def paths(target: TargetOptions, environment: Mapping[str, str]) -> list[Path]:
    """Return the files to read. Raises CliError if the file of `--kubeconfig` does not exist."""
    if target.kubeconfig:
        path = Path(target.kubeconfig).expanduser()
        if not path.is_file():
            raise errors.CliError(f"the kubeconfig {path} does not exist; correct --kubeconfig")
        return [path]
    listed = environment.get("KUBECONFIG", "")
    if listed:
        return [Path(part) for part in listed.split(os.pathsep) if part]
    return [Path(environment.get("HOME", "~")).expanduser() / ".kube/config"]


def merged_files(files: list[Path]) -> dict[str, Any] | None:
    """Return the entries of all files by kind and name; None if no file exists. Raises CliError."""
    merged: dict[str, Any] = {kind: {} for kind in _LISTS} | {"current-context": ""}
    parsed = [(path, _parsed(path)) for path in files if path.is_file()]
    for path, content in parsed:
        merged["current-context"] = merged["current-context"] or content.get("current-context") or ""
        for kind in _LISTS:
            for item in content.get(kind) or ():
                entry = dict(item.get(_ENTRIES[kind]) or {}) | {_FOLDER: path.absolute().parent}
                merged[kind].setdefault(str(item.get("name")), entry)
    return merged if parsed else None


def _parsed(path: Path) -> Mapping[str, Any]:
    import yaml  # noqa: PLC0415 - a pod has no kubeconfig

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(path.read_bytes(), Loader=loader) or {}  # noqa: S506 - it is the safe loader, in C
    except (OSError, yaml.YAMLError) as error:
        raise errors.CliError(f"the kubeconfig {path} cannot be read: {_one_line(error)}") from error
    if not isinstance(content, Mapping):
        raise errors.CliError(f"the kubeconfig {path} is not a mapping; name another with --kubeconfig")
    return content


def _access(merged: Mapping[str, Any], name: str) -> Access:
    if not merged["contexts"]:
        raise errors.CliError("the kubeconfig has no contexts; name another with --kubeconfig or KUBECONFIG")
    if not name:
        raise errors.CliError(f"no context is set; choose one with --context: {_names(merged['contexts'])}")
    context = merged["contexts"].get(name)
    if context is None:
        raise errors.unknown("context", name, merged["contexts"], f"the kubeconfig has {_names(merged['contexts'])}")
    cluster = merged["clusters"].get(context.get("cluster"))
    if not cluster or not cluster.get("server"):
        raise errors.CliError(f"context {name} names no cluster with a server; correct the kubeconfig")
    user = merged["users"].get(context.get("user")) or {}
    try:
        return Access(
            server=_server(cluster),
            login=_login(user, name, cluster),
            namespace=context.get("namespace") or "default",
            context=name,
            as_user=user.get("as"),
            as_groups=tuple(user.get("as-groups") or ()),
        )
    except binascii.Error as error:
        raise errors.CliError(f"context {name} has certificate data that is not base64: {error}") from error


def _server(cluster: Mapping[str, Any]) -> ServerEndpoint:
    return ServerEndpoint(
        url=cluster["server"].rstrip("/"),
        ca=_pem(cluster, "certificate-authority"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=cluster.get("tls-server-name"),
        proxy=cluster.get("proxy-url"),
    )


def _login(user: Mapping[str, Any], context: str, cluster: Mapping[str, Any]) -> Login:
    """Return the first kind of login that the user has, in the order of kubectl."""
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if certificate and key:
        return Certificate(certificate=certificate, key=key)
    if user.get("tokenFile"):
        return TokenFile(path=_path(user, user["tokenFile"]))
    if user.get("token"):
        return Token(token=user["token"])
    if user.get("username"):
        return Basic(username=user["username"], password=user.get("password") or "")
    if user.get("exec"):
        return _plugin(user, user["exec"], cluster)
    if user.get("auth-provider"):
        provider = user["auth-provider"].get("name")
        raise errors.CliError(
            f"context {context} uses the auth-provider {provider}, which Kubernetes 1.26 removed; use its exec plugin"
        )
    return Anonymous()


def _plugin(user: Mapping[str, Any], plugin: Mapping[str, Any], cluster: Mapping[str, Any]) -> ExecPlugin:
    command = str(plugin.get("command") or "")
    shown = {key: value for key, value in cluster.items() if key != _FOLDER}
    return ExecPlugin(
        command=str(_path(user, command)) if "/" in command else command,
        args=tuple(map(str, plugin.get("args") or ())),
        env={str(each["name"]): str(each["value"]) for each in plugin.get("env") or ()},
        api_version=plugin.get("apiVersion") or ExecPlugin().api_version,
        interactive=plugin.get("interactiveMode") != "Never",
        install_hint=plugin.get("installHint") or "",
        cluster=shown if plugin.get("provideClusterInfo") else None,
    )


def _pem(entry: Mapping[str, Any], name: str) -> Pem | None:
    if entry.get(f"{name}-data"):
        return Pem(data=base64.b64decode(entry[f"{name}-data"], validate=False))
    return Pem(path=_path(entry, entry[name])) if entry.get(name) else None


def _path(entry: Mapping[str, Any], text: str) -> Path:
    folder: Path = entry[_FOLDER]
    return folder / Path(text).expanduser()


def _in_pod(environment: Mapping[str, str]) -> Access:
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT", "443")
    namespace = _POD / "namespace"
    return Access(
        server=ServerEndpoint(
            url=f"https://{f'[{host}]' if ':' in host else host}:{port}", ca=Pem(path=_POD / "ca.crt")
        ),
        login=TokenFile(path=_POD / "token"),
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
    )


def _overridden(access: Access, target: TargetOptions) -> Access:
    return replace(
        access,
        namespace=target.namespace or access.namespace,
        as_user=target.as_user or access.as_user,
        as_groups=target.as_groups or access.as_groups,
    )


def _names(entries: Mapping[str, Any]) -> str:
    return ", ".join(sorted(entries)) or "none"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

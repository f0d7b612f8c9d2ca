"""Turns a login into headers and a client certificate. Runs exec plugins."""

import base64
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from torpor_cli import errors
from torpor_cli.cluster.access import (
    Anonymous,
    Basic,
    Certificate,
    ExecPlugin,
    Login,
    Pem,
    Token,
    TokenFile,
)

_LIMIT_S = 300.0
"""A plugin may wait for a person who logs in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a request carries."""

    token: str | None = field(default=None, repr=False)
    authorization: str | None = field(default=None, repr=False)
    certificate: Certificate | None = None


def obtain(login: Login) -> Credentials:
    """Return the credentials of a login. Runs the exec plugin of the kubeconfig. Raises CliError."""
    match login:
        case Anonymous():
            return Credentials()
        case Certificate():
            return Credentials(certificate=login)
        case Token(token=token):
            return _bearer(token)
        case TokenFile(path=path):
            try:
                return _bearer(path.read_text().strip())
            except OSError as error:
                raise errors.CliError(f"the token file {path} cannot be read: {error.strerror}") from error
        case Basic(username=username, password=password):
            pair = base64.b64encode(f"{username}:{password}".encode()).decode()
            return Credentials(authorization=f"Basic {pair}")
        case ExecPlugin():
            return _from_status(_run(login), login.command)
        case _:
            assert_never(login)


def _bearer(token: str) -> Credentials:
    return Credentials(token=token, authorization=f"Bearer {token}")


def _run(plugin: ExecPlugin) -> Mapping[str, Any]:
    import subprocess  # noqa: PLC0415 - most kubeconfigs have no plugin

    interactive = plugin.interactive and sys.stdin.isatty()
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.cluster is not None:
        spec["cluster"] = dict(plugin.cluster)
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    try:
        ended = subprocess.run(
            [plugin.command, *plugin.args],
            env={**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_LIMIT_S,
            check=False,
        )
    except FileNotFoundError as error:
        hint = plugin.install_hint or "install it"
        raise errors.CliError(f"the credential plugin {plugin.command} is not on the PATH; {hint}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise errors.CliError(f"the credential plugin {plugin.command} failed: {error}") from error
    if ended.returncode != 0:
        raise errors.CliError(
            f"the credential plugin {plugin.command} ended with exit code {ended.returncode}; log in again"
        )
    return _status(ended.stdout, plugin.command)


def _status(content: bytes, command: str) -> Mapping[str, Any]:
    try:
        status = json.loads(content)["status"]
    except (ValueError, KeyError, TypeError):
        status = None
    if not isinstance(status, Mapping):
        raise errors.CliError(f"the credential plugin {command} printed no ExecCredential; run it to see why")
    return status


def _from_status(status: Mapping[str, Any], command: str) -> Credentials:
    certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
    pair = None
    if certificate and key:
        pair = Certificate(certificate=Pem(data=certificate.encode()), key=Pem(data=key.encode()))
    token = status.get("token")
    if not token and pair is None:
        raise errors.CliError(
            f"the credential plugin {command} printed neither a token nor a certificate; log in again"
        )
    return Credentials(token=token, authorization=f"Bearer {token}" if token else None, certificate=pair)

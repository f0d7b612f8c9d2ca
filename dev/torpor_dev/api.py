"""Reads from an API server whose kubeconfig embeds its certificates, as those of kind and `control_plane` do.

Used to check health without kubectl. Must not write. Does not support a kubeconfig of the user, which may authenticate
in ways that only kubectl knows.
"""

import base64
import json
import re
import ssl
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from torpor_dev.console import DevError

_TIMEOUT = 5


class UnreachableError(DevError):
    """The API server did not answer with success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiReader:
    """An API server and the administrator's certificate for it."""

    server: str
    context: ssl.SSLContext

    @classmethod
    def from_kubeconfig(cls, kubeconfig: Path) -> Self:
        """Read a kubeconfig. Raises UnreachableError if it is missing or embeds no certificates."""
        try:
            text = kubeconfig.read_text()
            context = ssl.create_default_context(cadata=_decoded(text, "certificate-authority-data"))
            with tempfile.NamedTemporaryFile("w") as file:  # OpenSSL reads a client certificate only from a file
                file.write(_decoded(text, "client-certificate-data") + _decoded(text, "client-key-data"))
                file.flush()
                context.load_cert_chain(file.name)
            return cls(server=_value(text, "server"), context=context)
        except (OSError, ValueError) as error:
            raise UnreachableError(f"{kubeconfig} cannot be used: {error}") from error

    def get(self, path: str) -> Any:
        """The JSON of the response, or its text if it is no JSON."""
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.context)
        )
        try:
            with direct.open(self.server + path, timeout=_TIMEOUT) as answer:
                body = answer.read().decode()
        except (OSError, urllib.error.URLError) as error:
            raise UnreachableError(f"{self.server}{path}: {error}") from error
        return json.loads(body) if body.startswith("{") else body


def _decoded(text: str, field: str) -> str:
    return base64.b64decode(_value(text, field)).decode()


def _value(text: str, field: str) -> str:
    match = re.search(rf"^\s*-?\s*{field}: (\S+)$", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"it has no {field}")
    return match[1]

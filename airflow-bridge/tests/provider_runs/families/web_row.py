"""Builds rows of providers whose service has an HTTP API."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers
from provider_runs.servers.web import WebServer

Connect = Callable[[WebServer], Mapping[str, Any]]
"""Returns the fields of the connection to a server."""


class WebRows:
    """Builds the rows of a family. `argument` is the one with the connection id; `connect` describes the connection."""

    def __init__(
        self, servers: RowServers, family: str, argument: str, connect: Connect, *, uses_tls: bool = False
    ) -> None:
        self._servers = servers
        self._family = family
        self._argument = argument
        self._connect = connect
        self._uses_tls = uses_tls

    def row(self, path: str, arguments: Mapping[str, Any], answers: Mapping[str, Any], **given: Any) -> ProviderRow:
        """Return a row with a server of its own. `answers` are by `METHOD /path`."""
        argument = given.pop("argument", self._argument)
        name = re.sub(r"\W", "_", f"{path}_{given.get('case', '')}").lower().strip("_")
        server = self._servers.web(answers, uses_tls=self._uses_tls)
        row = ProviderRow(
            family=self._family,
            path=path,
            arguments={argument: name, **arguments},
            connections={name: json.dumps(dict(self._connect(server)))},
            answers=answers,
            **given,
        )
        self._servers.expect(row.key, server.answers)
        return row

"""A secrets backend of Airflow that knows the connections of the current trigger or task, then those of another one."""

import asyncio
from collections.abc import Mapping
from typing import Any

from airflow.sdk import Connection
from airflow.sdk.bases.secrets_backend import BaseSecretsBackend
from airflow.sdk.log import mask_secret

from torpor_airflow.connections import pool_lookups, scope, secret_texts, user_backend
from torpor_airflow.connections.scope import VisibleSecrets
from torpor_airflow.connections.user_backend import BackendQuery, UserBackend


class ScopedSecretsBackend(BaseSecretsBackend):
    """Airflow asks it first. What it does not know is in `backend`, such as Vault, or in the variables of the process.

    Args:
        backend: The class path of a secrets backend that the pool or the pod has for all its tasks.
        backend_kwargs: The arguments of that class.
    """

    def __init__(self, backend: str = "", backend_kwargs: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._backend = UserBackend(backend, backend_kwargs or {})

    def get_connection(self, conn_id: str, team_name: str | None = None) -> Any:  # noqa: ARG002 - Airflow's signature
        """Return the connection, None if there is none."""
        value = scope.visible().connections.get(conn_id)
        if value is not None:
            return self.deserialize_connection(conn_id, scope.written(value))
        return self._find("connection", conn_id)

    async def aget_connection(self, conn_id: str) -> Any:
        """Return the connection to code that awaits it."""
        if conn_id in scope.visible().connections or not self._backend:
            return self.get_connection(conn_id)
        lookups = pool_lookups.current()
        if lookups is None:
            return await asyncio.to_thread(self.get_connection, conn_id)
        return await lookups.fetch(self._backend, _query("connection", conn_id))

    def get_variable(self, key: str, team_name: str | None = None) -> str | None:  # noqa: ARG002 - Airflow's signature
        """Return the text of a variable, None if there is none."""
        value = scope.visible().variables.get(key)
        if value is not None:
            return str(value)
        text: str | None = self._find("variable", key)
        return text

    def get_config(self, key: str) -> str | None:
        """Return a value of Airflow's configuration from the backend of the process."""
        return self._backend.config(key) if self._backend else None

    def _find(self, kind: str, name: str) -> Any:
        """Ask the backend of the process: for the current wait of a pool, or for the task of this pod."""
        if not self._backend:
            return None
        query = _query(kind, name)
        lookups = pool_lookups.current()
        if lookups is not None:
            return lookups.answer(self._backend, query)
        if pool_lookups.is_pool():
            raise self._backend.failure(query, pool_lookups.FOREIGN_THREAD)
        answer = self._backend.ask(query)
        for text in secret_texts.collect(answer):
            mask_secret(text)  # without its name: all of a secrets backend is secret
        return answer


def _query(kind: str, name: str) -> BackendQuery:
    return BackendQuery(kind=kind, name=name, team=user_backend.team_of(scope.visible().namespace))


def check(secrets: VisibleSecrets) -> None:
    """Raise ValueError for a connection that Airflow cannot parse. The message does not contain its value."""
    parser = ScopedSecretsBackend()
    parser._set_connection_class(Connection)  # noqa: SLF001 - of this module
    for name, value in secrets.connections.items():
        try:
            parser.deserialize_connection(name, scope.written(value))
        except Exception as error:  # noqa: BLE001 - Airflow's parser raises what its standard libraries raise
            message = (
                f"airflow.connections.{name} is neither a URI nor JSON that Airflow accepts: {type(error).__name__}"
            )
            raise ValueError(message) from None

"""A secrets backend of Airflow that knows the connections of the current trigger or task, then those of another one."""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Connection
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.bases.secrets_backend import BaseSecretsBackend

from torpor_airflow.connections import scope
from torpor_airflow.connections.scope import VisibleSecrets


class ScopedSecretsBackend(BaseSecretsBackend):
    """Airflow asks it first. What it does not know is in `backend`, such as Vault, or in the variables of the process.

    Args:
        backend: The class path of a secrets backend that the pool or the pod has for all its tasks.
        backend_kwargs: The arguments of that class.
    """

    def __init__(self, backend: str = "", backend_kwargs: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._backend: Any = import_string(backend)(**(backend_kwargs or {})) if backend else None

    def get_connection(self, conn_id: str, team_name: str | None = None) -> Any:  # noqa: ARG002 - Airflow's signature
        """Return the connection, None if there is none."""
        value = scope.visible().connections.get(conn_id)
        if value is not None:
            return self.deserialize_connection(conn_id, scope.written(value))
        return None if self._backend is None else self._backend.get_connection(conn_id)

    def get_variable(self, key: str, team_name: str | None = None) -> str | None:  # noqa: ARG002 - Airflow's signature
        """Return the text of a variable, None if there is none."""
        value = scope.visible().variables.get(key)
        if value is not None:
            return str(value)
        return None if self._backend is None else self._backend.get_variable(key)

    def get_config(self, key: str) -> str | None:
        """Return a value of Airflow's configuration from the backend of the process."""
        return None if self._backend is None else self._backend.get_config(key)

    def _set_connection_class(self, conn_class: type) -> None:
        super()._set_connection_class(conn_class)
        if self._backend is not None:
            self._backend._set_connection_class(conn_class)  # noqa: SLF001 - as Airflow does for each backend


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

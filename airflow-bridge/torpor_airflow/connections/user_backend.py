"""The secrets backend of Airflow that a pool or a pod has for all its tasks, such as that of Vault. It blocks."""

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import Connection
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk._shared.secrets_backend.base import call_secrets_backend_method
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowSecretsBackendAccessDenied

_ARGUMENTS = {"connection": "conn_id", "variable": "key"}
_VARIABLES = {"connection": "AIRFLOW_CONN_", "variable": "AIRFLOW_VAR_"}
_CAUSES_MAX = 5


class BackendFailedError(AirflowSecretsBackendAccessDenied):
    """The backend cannot answer. Airflow would try the next place, and then say that there is no such connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendQuery:
    """A connection or a variable by its name. `team`: the namespace that asks, where Airflow has several teams."""

    kind: str
    name: str
    team: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name[:200]}"


class UserBackend:
    """Makes the backend when the first query needs it, and names it in errors. Values are in no error.

    Args:
        class_path: The class of the backend; empty if there is none.
        kwargs: The arguments of that class.
    """

    def __init__(self, class_path: str, kwargs: Mapping[str, Any]) -> None:
        self.class_path = class_path
        self._kwargs = kwargs
        self._backend: Any = None
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self.class_path)

    def ask(self, query: BackendQuery) -> Any:
        """Return the connection or the text of the variable, None if the backend has none. Raises BackendFailedError.

        As in Airflow, a variable of the process answers for a backend that fails.
        """
        try:
            method = getattr(self._made(), f"get_{query.kind}")
            return call_secrets_backend_method(method, team_name=query.team, **{_ARGUMENTS[query.kind]: query.name})
        except Exception as error:  # noqa: BLE001 - backends raise what their libraries raise
            if f"{_VARIABLES[query.kind]}{query.name.upper()}" in os.environ:
                return None
            raise self.failure(query, _causes(error)) from None

    def config(self, key: str) -> str | None:
        """Return a value of Airflow's configuration."""
        found: str | None = self._made().get_config(key)
        return found

    def failure(self, query: BackendQuery, why: str) -> BackendFailedError:
        """Return the error for a query without an answer. `why` contains no value."""
        return BackendFailedError(f"the secrets backend {self.class_path} failed for {query}: {why}")

    def _made(self) -> Any:
        with self._lock:
            if self._backend is None:
                backend = import_string(self.class_path)(**self._kwargs)
                backend._set_connection_class(Connection)  # noqa: SLF001 - as Airflow does for each backend
                self._backend = backend
            return self._backend


def team_of(namespace: str) -> str | None:
    """Return the team of a namespace: its name, if Airflow's option `core.multi_team` is on."""
    return namespace if namespace and conf.getboolean("core", "multi_team", fallback=False) else None


def _causes(error: BaseException) -> str:
    """Return the classes of an error and of its causes. Their texts may contain a value."""
    return ", from ".join(type(each).__name__ for each in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(_CAUSES_MAX):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__

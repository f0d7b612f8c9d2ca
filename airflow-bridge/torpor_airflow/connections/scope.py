"""The connections and variables that one trigger or one task sees, as a context variable.

Tasks and threads that a trigger starts inherit it, so no other trigger of the process sees them.
"""

import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

FIELDS = ("conn_type", "description", "host", "schema", "login", "password", "port", "extra")
_COUNT_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleSecrets:
    """Connections by id: a URI, JSON text, or fields. Variables by name: their text. `namespace`: where they are."""

    connections: Mapping[str, str | Mapping[str, Any]] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    namespace: str = ""


NOTHING = VisibleSecrets()
_visible: ContextVar[VisibleSecrets] = ContextVar("torpor_airflow.visible", default=NOTHING)


def parse(argument: object) -> VisibleSecrets:
    """Return what the argument `airflow` of a trigger or a task contains. Raises ValueError, without a value in it."""
    if argument is None:
        return NOTHING
    if not isinstance(argument, Mapping) or not argument.keys() <= {"connections", "variables"}:
        raise ValueError("airflow must be an object with `connections` and `variables`")
    connections, variables = _named(argument, "connections"), _named(argument, "variables")
    for name, value in connections.items():
        _check_connection(name, value)
    for name, value in variables.items():
        if not isinstance(value, str):
            raise ValueError(f"airflow.variables.{name} must be text, or the secretRef of a text")  # noqa: TRY004 - the triggerer shows the signature for a TypeError
    return VisibleSecrets(connections=connections, variables=variables)


def activate(secrets: VisibleSecrets) -> None:
    """Make them visible in the current context, and nothing else."""
    _visible.set(secrets)


def visible() -> VisibleSecrets:
    """Return what the current context sees."""
    return _visible.get()


def written(value: str | Mapping[str, Any]) -> str:
    """Return a connection as text that Airflow parses: a URI, or JSON."""
    return json.dumps(value) if isinstance(value, Mapping) else str(value).strip()


def _named(argument: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    values = argument.get(name) or {}
    if not isinstance(values, Mapping) or len(values) > _COUNT_MAX:
        raise ValueError(f"airflow.{name} must be an object with at most {_COUNT_MAX} entries")
    return values


def _check_connection(name: str, value: object) -> None:
    match value:
        case str() if value:
            return
        case Mapping() if value.get("conn_type") and value.keys() <= set(FIELDS):
            port = value.get("port")
            if port is None or str(port).isdigit():
                return
            raise ValueError(f"airflow.connections.{name}.port must be a number")
        case _:
            raise ValueError(
                f"airflow.connections.{name} must be a URI, JSON text, the secretRef of one of them, or an object "
                f"with conn_type and any of {', '.join(FIELDS[1:])}"
            )

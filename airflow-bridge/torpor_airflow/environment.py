"""The variables that make Airflow a library: no database, no logging of its own, and the secrets of Torpor.

Airflow reads them when it is imported for the first time. Pure: the variables are an argument.
"""

import json
from collections.abc import Mapping, MutableMapping
from typing import Any

BACKEND = "torpor_airflow.connections.backend.ScopedSecretsBackend"
_SECTIONS = ("AIRFLOW__WORKERS__SECRETS_BACKEND", "AIRFLOW__SECRETS__BACKEND")
"""Where Airflow's documentation puts a secrets backend. The first one wins in a worker."""

AS_LIBRARY = "_AIRFLOW__AS_LIBRARY"
_DEFAULTS = {
    AS_LIBRARY: "1",  # no ORM and no logging when airflow is imported
    "AIRFLOW_HOME": "/tmp/torpor-airflow",  # noqa: S108 - nothing is stored there
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__COLORED_CONSOLE_LOG": "False",
}


VERSION = "3.3"
"""The minor version of Airflow whose internals the bridge uses."""


def version_problem(installed: str) -> str | None:
    """Return why a version of Airflow does not fit, None if it does."""
    if installed.startswith(f"{VERSION}."):
        return None
    return f"torpor-airflow needs Airflow {VERSION}, and this environment has {installed}: install it in one of its own"


def prepare(variables: MutableMapping[str, str]) -> None:
    """Set what Airflow needs. A secrets backend of the user is asked after the connections of the task."""
    for name, value in _DEFAULTS.items():
        variables.setdefault(name, value)
    section = next((name for name in _SECTIONS if variables.get(name)), _SECTIONS[-1])
    backend = variables.get(section, "")
    if backend != BACKEND:
        kwargs = _kwargs(variables, section)
        variables[f"{section}_KWARGS"] = json.dumps({"backend": backend, "backend_kwargs": kwargs})
        variables[section] = BACKEND


def _kwargs(variables: MutableMapping[str, str], section: str) -> dict[str, Any]:
    """Return the arguments of the backend, and remove those with a variable of their own. Raises ImportError."""
    try:
        kwargs = json.loads(variables.get(f"{section}_KWARGS") or "{}")
    except ValueError:
        kwargs = None
    if not isinstance(kwargs, dict):
        raise ImportError(f"the variable {section}_KWARGS is not a JSON object")  # noqa: TRY004 - the import fails
    prefix = f"{section}_KWARG__"
    single = {name: variables.pop(name) for name in tuple(variables) if name.startswith(prefix)}
    return kwargs | {name.removeprefix(prefix).lower(): value for name, value in single.items()}


def without_bridge(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an interpreter that loads Airflow as an installation, with the user's secrets backend."""
    found = {name: value for name, value in variables.items() if name != AS_LIBRARY}
    for section in _SECTIONS:
        if found.get(section) == BACKEND:
            given = json.loads(found.pop(f"{section}_KWARGS", "") or "{}")
            del found[section]
            if given.get("backend"):
                found |= {section: given["backend"], f"{section}_KWARGS": json.dumps(given["backend_kwargs"])}
    return found

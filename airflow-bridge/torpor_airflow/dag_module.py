"""Imports a module with DAGs, as Airflow's worker does, and returns them. Airflow's own code builds them."""

import importlib
import sys
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from airflow.sdk import DAG
from airflow.sdk.definitions._internal.contextmanager import DagContext


class DagFileError(Exception):
    """The module cannot be imported, or has no DAG. The message is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagModule:
    """The DAGs of a module, and the modules that its import has imported."""

    dags: Sequence[Any]
    imported: AbstractSet[str]


_loaded: dict[str, DagModule] = {}
"""Python imports a module once in a process."""


def load(module_name: str) -> Sequence[Any]:
    """Return the DAGs of a module, by their ids. Raises DagFileError."""
    if module_name in _loaded:
        return _loaded[module_name].dags
    before = set(sys.modules)
    DagContext.autoregistered_dags.clear()
    DagContext.current_autoregister_module_name = module_name
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise DagFileError(f"the import of {module_name} fails: {type(error).__name__}: {error}") from error
    finally:
        DagContext.current_autoregister_module_name = None
    found = {dag.dag_id: dag for dag in vars(module).values() if isinstance(dag, DAG)}
    found |= {dag.dag_id: dag for dag, _ in DagContext.autoregistered_dags}
    if not found:
        raise DagFileError(f"there is no DAG in {module_name}")
    dags = [found[name] for name in sorted(found)]
    _loaded[module_name] = DagModule(dags=dags, imported=frozenset(sys.modules) - before | {module_name})
    return dags


def imported(module_name: str) -> AbstractSet[str]:
    """Return the modules that the import of a loaded module has imported, and itself."""
    return _loaded[module_name].imported

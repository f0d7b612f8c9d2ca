"""Imports a module with DAGs, as Airflow's worker does, and returns them. Airflow's own code builds them."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.sdk import DAG
from airflow.sdk.definitions._internal.contextmanager import DagContext

from torpor_airflow import no_database, source_folder
from torpor_airflow.conversion import finding

_PLACES_MAX = 5


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
    no_database.install()
    try:
        source_folder.prepare()
    except (source_folder.SourceFolderError, OSError) as error:
        raise DagFileError(str(error)) from error
    DagContext.autoregistered_dags = registered = _RegisteredDags()
    DagContext.current_autoregister_module_name = module_name
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise DagFileError(f"the import of {module_name} fails: {type(error).__name__}: {error}") from error
    finally:
        DagContext.current_autoregister_module_name = None
        DagContext.autoregistered_dags = set()
    created = [dag for dag in vars(module).values() if isinstance(dag, DAG)]
    created += [dag for dag, _ in registered]
    if not created:
        raise DagFileError(f"there is no DAG in {module_name}")
    dags = _distinct(created)
    _loaded[module_name] = DagModule(dags=dags, imported=frozenset(sys.modules) - before | {module_name})
    return dags


class _RegisteredDags(list[tuple[Any, Any]]):
    """Takes the place of Airflow's set, in which DAGs are equal if their operators differ only by arguments."""

    def add(self, registered: tuple[Any, Any]) -> None:
        """Add a DAG with its module."""
        self.append(registered)


def _distinct(created: Sequence[Any]) -> Sequence[Any]:
    """Return each DAG once, by their ids. Raises DagFileError for two of one id, of which Airflow keeps any one."""
    by_id: dict[str, Any] = {}
    for dag in created:
        if by_id.setdefault(dag.dag_id, dag) is not dag:
            places = ", ".join(_places(dag.dag_id, {dag.fileloc, by_id[dag.dag_id].fileloc}))
            raise DagFileError(f"several DAGs have the dag_id {dag.dag_id}, at {places}: give each a dag_id of its own")
    return [by_id[dag_id] for dag_id in sorted(by_id)]


def _places(dag_id: str, files: AbstractSet[str]) -> Iterator[str]:
    """Yield the lines of the files that create a DAG."""
    for file in sorted(files):
        source = Path(file).read_text(errors="replace") if Path(file).is_file() else ""
        lines = finding.lines_of_dag(source.splitlines(), dag_id)
        yield from [f"{file}:{line}" for line in lines[:_PLACES_MAX]]


def imported(module_name: str) -> AbstractSet[str]:
    """Return the modules that the import of a loaded module has imported, and itself."""
    return _loaded[module_name].imported

"""The DAG file that a user names: where it is, how a pod imports it, and the files that it reads."""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torpor_airflow import dag_module
from torpor_airflow.conversion import opened_files, template_files
from torpor_airflow.conversion.template_files import TemplateFiles
from torpor_airflow.dag_module import DagFileError

_read: dict[str, "DagFile"] = {}
"""Python imports a module once in a process, and the names of template files are replaced then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagFile:
    """A module with DAGs. `name` is what the user wrote.

    `data` are the files that its import has read, `templates` those of the operators by DAG.
    """

    name: str
    module: str
    path: Path
    dags: Sequence[Any]
    data: Sequence[Path] = ()
    templates: Mapping[str, TemplateFiles] = field(default_factory=dict)

    def lines(self) -> Sequence[str]:
        """Return the lines of the source."""
        return self.path.read_text(encoding="utf-8", errors="replace").splitlines()


def read(name: str) -> DagFile:
    """Return the DAGs of a file, or of a module such as `team.dags.etl`. Raises DagFileError."""
    path = Path(name)
    if path.suffix == ".py":
        if not path.is_file():
            raise DagFileError(f"there is no file {name}")
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        module = path.stem
        _check_name(path, module)
    else:
        module = name
    if module not in _read:
        _read[module] = _load(name, module)
    return replace(_read[module], name=name)


def _load(name: str, module: str) -> DagFile:
    with opened_files.recorded() as opened:
        dags = dag_module.load(module)
    return DagFile(
        name=name,
        module=module,
        path=Path(str(sys.modules[module].__file__)),
        dags=dags,
        data=opened_files.data_files(opened),
        templates={dag.dag_id: template_files.resolve(dag) for dag in dags},
    )


def _check_name(path: Path, module: str) -> None:
    """Raise DagFileError if a pod would import another module than this file."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        raise DagFileError(f"{path}: {module} is not the name of a module; rename the file") from error
    if found is None or found.origin is None or Path(found.origin).resolve() != path.resolve():
        raise DagFileError(f"{path}: another module has the name {module}; rename the file")

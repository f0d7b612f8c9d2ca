"""The DAG file that a user names: where it is, how a pod imports it, and the files beside it that it needs."""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor_airflow import dag_module
from torpor_airflow.dag_module import DagFileError

_CONFIG_MAP_MAX = 900_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DagFile:
    """A module with DAGs. `name` is what the user wrote."""

    name: str
    module: str
    path: Path
    dags: Sequence[Any]

    def lines(self) -> Sequence[str]:
        """Return the lines of the source."""
        return self.path.read_text().splitlines()


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
    dags = dag_module.load(module)
    return DagFile(name=name, module=module, path=Path(str(sys.modules[module].__file__)), dags=dags)


def _check_name(path: Path, module: str) -> None:
    """Raise DagFileError if a pod would import another module than this file."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        raise DagFileError(f"{path}: {module} is not the name of a module; rename the file") from error
    if found is None or found.origin is None or Path(found.origin).resolve() != path.resolve():
        raise DagFileError(f"{path}: another module has the name {module}; rename the file")


def source(files: Sequence[DagFile]) -> Mapping[str, str]:
    """Return the texts of the DAG files and of the modules beside them that they import, by file name.

    Raises DagFileError if a ConfigMap cannot hold them.
    """
    folders = {file.path.resolve().parent for file in files}
    texts: dict[str, str] = {}
    for name in sorted({each for file in files for each in dag_module.imported(file.module)}):
        path = _path(sys.modules.get(name))
        if path is None or not any(folder in path.parents for folder in folders):
            continue
        if path.parent not in folders:
            raise DagFileError(f"{path} is in a package, which a ConfigMap cannot hold: add --in-image")
        texts[path.name] = path.read_text()
    if sum(map(len, texts.values())) > _CONFIG_MAP_MAX:
        raise DagFileError("the files of the DAGs are too large for a ConfigMap: add --in-image")
    return dict(sorted(texts.items()))


def _path(module: Any) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name).resolve() if isinstance(name, str) and name.endswith(".py") else None

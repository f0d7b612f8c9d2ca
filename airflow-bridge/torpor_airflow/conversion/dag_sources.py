"""The files that the pods of a DAG need: its file, what it imports and reads, and its templates, for a ConfigMap."""

import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from torpor_airflow import dag_module, source_folder
from torpor_airflow.conversion import secret_files
from torpor_airflow.conversion.dag_file import DagFile
from torpor_airflow.conversion.finding import ConversionFinding
from torpor_airflow.dag_module import DagFileError

BYTES_MAX = 900_000
_INSTALLED = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")]
_INSTEAD = "add --in-image, and put the files into the image"


def texts(files: Sequence[DagFile], added: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the texts of the files by their paths below the folder from which Python imports the DAG file.

    `added` are further files of the user. Raises DagFileError if a ConfigMap cannot hold them.
    """
    folders = {root(file.path, file.module) for file in files}
    found = dict(paths(files))
    for name in added:
        path = Path(name).resolve()
        if not path.is_file():
            raise DagFileError(f"there is no file {name}")
        nearest = _folder_of(path, folders)
        if nearest is None:
            raise DagFileError(f"{name} is not below the folder of the DAG file, {', '.join(map(str, folders))}")
        if secret_files.is_secret(path):
            raise DagFileError(f"{name}: {secret_files.INSTEAD}")
        _put(found, path, nearest)
    _check_size(found)
    return {name: _text(path) for name, path in sorted(found.items())}


def paths(files: Sequence[DagFile]) -> Mapping[str, Path]:
    """Return the files by their paths below their folders. Raises DagFileError for two of the same path."""
    found: dict[str, Path] = {}
    for path, folder in _needed(files, {root(file.path, file.module) for file in files}):
        _put(found, path, folder)
    return found


def root(path: Path, module: str) -> Path:
    """Return the folder from which Python imports a module: that of `team/dags/etl.py` for `team.dags.etl`."""
    parts = module.count(".") + (path.name == "__init__.py")
    return path.resolve().parents[parts]


def left_out(file: DagFile, dag_id: str) -> Iterator[ConversionFinding]:
    """Yield a loss for each file of a DAG that a ConfigMap does not get: a secret, or a template in another folder."""
    folder = root(file.path, file.module)
    for path, task_id in file.templates[dag_id].paths.items():
        if folder not in path.resolve().parents:
            text = f"template {path}: it is not below {folder}, the folder of the DAG file: {_INSTEAD}"
            yield ConversionFinding(subject=task_id, text=text)
        elif secret_files.is_secret(path):
            yield ConversionFinding(subject=task_id, text=f"template {path}: {secret_files.INSTEAD}")
    for path in file.data:
        if _inside(path, {folder}) is not None and secret_files.is_secret(path):
            yield ConversionFinding(subject=dag_id, text=f"{path}: {secret_files.INSTEAD}")


def _needed(files: Sequence[DagFile], folders: set[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield the modules, the files that they have read, and the templates, each with the folder that it is below."""
    for name in sorted({each for file in files for each in dag_module.imported(file.module)}):
        given = _module_path(name)
        if given is None or (path := _inside(given, folders)) is None:
            continue
        own = root(path, name)
        folder = own if own in folders else _folder_of(path, folders)
        if folder is not None:
            yield path, folder
    for file in files:
        for given in [*file.data, *(path for each in file.templates.values() for path in each.paths)]:
            path = _inside(given, folders)
            if path is None or secret_files.is_secret(path):
                continue
            if (folder := _folder_of(path, folders)) is not None:
                yield path, folder


def _inside(given: Path, folders: set[Path]) -> Path | None:
    """Return the path in one of the folders, None if there is none. Raises DagFileError for a link out of them."""
    path, target = given.parent.resolve() / given.name, given.resolve()
    if _is_installed(path) or _is_installed(target):
        return None
    is_inside, is_target_inside = (_folder_of(each, folders) is not None for each in (path, target))
    if is_inside and not is_target_inside:
        raise DagFileError(f"{given} is a link out of the folder of the DAG file: {_INSTEAD}")
    if is_inside:
        return path
    return target if is_target_inside else None  # the DAG file itself may be found by a link


def _folder_of(path: Path, folders: set[Path]) -> Path | None:
    """Return the nearest of the folders that a path is below."""
    return max((each for each in folders if each in path.parents), key=lambda each: len(each.parts), default=None)


def _put(found: dict[str, Path], path: Path, folder: Path) -> None:
    name = path.relative_to(folder).as_posix()
    if found.setdefault(name, path) != path:
        raise DagFileError(f"{found[name]} and {path} have the same path below their DAG files: rename one of them")


def _module_path(name: str) -> Path | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file).absolute() if isinstance(file, str) and file.endswith(".py") else None


def _is_installed(path: Path) -> bool:
    return any(each in path.parents for each in _INSTALLED)


def _check_size(found: Mapping[str, Path]) -> None:
    """Raise DagFileError if the files are too many or too large. Their sizes are read, not their contents."""
    if len(found) > source_folder.FILES_MAX:
        raise DagFileError(f"the DAGs need {len(found)} files; a ConfigMap gets {source_folder.FILES_MAX}: {_INSTEAD}")
    sizes = {name: path.stat().st_size for name, path in found.items()}
    if sum(sizes.values()) > BYTES_MAX:
        largest = max(sizes, key=lambda name: sizes[name])
        raise DagFileError(
            f"the files of the DAGs have {sum(sizes.values()):,} bytes, {largest} alone {sizes[largest]:,}; "
            f"a ConfigMap gets {BYTES_MAX:,}: {_INSTEAD}"
        )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DagFileError(f"{path} is not a text: {_INSTEAD}") from error

"""The files of a DAG in a ConfigMap, whose keys have no folders: an index has the path of each key.

The converter writes the index if a file is in a folder, or has a name that is not valid as a key. The pod copies the
files to their paths before it imports the DAG file, so `Path(__file__).parent / "sql"` and `template_searchpath` find
them.
"""

import importlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from torpor_wire import canonical, constants

INDEX = "torpor-airflow-files.json"
FILES_MAX = 500
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}", re.ASCII)
_prepared: set[str] = set()


class SourceFolderError(Exception):
    """The index of the files is not one that the converter has written."""


def keys(paths: Iterable[str]) -> Mapping[str, str]:
    """Return the key of each path: the path itself if it can be one."""
    found: dict[str, str] = {}
    for path in sorted(paths, key=lambda each: (not _is_key(each), each)):
        key = path if _is_key(path) else re.sub(r"[^-._a-zA-Z0-9]", "_", path.replace("/", "__"))[-200:].lstrip(".")
        found[path] = key if key not in {INDEX, "", *found.values()} else f"{canonical.digest(path)[:8]}-{key}"
    return found


def data(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return the data of the ConfigMap for texts by their paths, with an index if a path is not its key."""
    key_of = keys(texts)
    written = {key_of[path]: text for path, text in sorted(texts.items())}
    if all(path == key for path, key in key_of.items()):
        return written
    return {**written, INDEX: json.dumps(dict(sorted(key_of.items())), indent=1)}


def parse(index: str) -> Mapping[str, str]:
    """Return the key of each path from the text of an index. Raises SourceFolderError."""
    try:
        found = json.loads(index)
    except (ValueError, RecursionError) as error:
        raise SourceFolderError(f"{INDEX} is not JSON: {error}") from error
    if not isinstance(found, dict) or len(found) > FILES_MAX:
        raise SourceFolderError(f"{INDEX} is not an object with up to {FILES_MAX} files")
    for path, key in found.items():
        if not _is_inside(path) or not isinstance(key, str) or not _is_key(key):
            raise SourceFolderError(f"{INDEX}: {path!r:.100} is not the path of a file below the folder of the DAG")
    return found


def prepare(environ: Mapping[str, str] = os.environ) -> None:
    """Copy the files of the source to their paths, and let Python import from there. Raises SourceFolderError."""
    folder = environ.get(constants.ENV_SOURCE)
    if not folder or folder in _prepared or not (index := Path(folder) / INDEX).is_file():
        return
    _prepared.add(folder)
    is_mount = not os.access(folder, os.W_OK)  # `torpor run` has a folder of its own for each attempt, and removes it
    target = Path(tempfile.mkdtemp(prefix="torpor-source-")) if is_mount else Path(folder)
    for path, key in parse(index.read_text(encoding="utf-8")).items():
        if not (target / path).exists():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes((Path(folder) / key).read_bytes())
    sys.path.insert(0, str(target))
    importlib.invalidate_caches()


def _is_key(name: str) -> bool:
    return _KEY.fullmatch(name) is not None and not name.startswith(".")


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in path

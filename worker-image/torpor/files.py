"""The files of the running task, as `files` of its task declares them: a path for each input and output.

from torpor import files, task

@task
def count() -> int:
    rows = files.input_path("table").read_text().splitlines()
    files.output_path("report").write_text(f"{len(rows)} rows")
    return len(rows)
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_wire import constants


def input_path(name: str) -> Path:
    """Return the path of an input, a file or a folder. Raises LookupError if the task has no such input.

    An optional input that was not stored has a path at which nothing is.
    """
    return _path("in", name)


def output_path(name: str) -> Path:
    """Return the path at which the task writes an output, a file or a folder. Raises LookupError."""
    path = _path("out", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _path(direction: str, name: str) -> Path:
    paths = {each["name"]: each["path"] for each in declared(os.environ).get(direction, ())}
    if name not in paths:
        known = ", ".join(sorted(paths)) or "none"
        raise LookupError(f"the task has no file {name!r} in files.{direction}: {known}")
    return Path(paths[name])


def declared(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the files of the task from the environment of its pod. Raises ValueError."""
    text = environment.get(constants.ENV_FILES)
    value: dict[str, Any] = json.loads(text) if text else {}
    return value

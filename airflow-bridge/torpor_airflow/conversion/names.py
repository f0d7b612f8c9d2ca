"""Names of Torpor for ids of Airflow. Pure."""

import re
from collections.abc import Iterable, Mapping

from torpor_wire import canonical

NAME_MAX = 40
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}", re.ASCII)


def task_names(task_ids: Iterable[str]) -> Mapping[str, str]:
    """Return a name for each id, such as `extract_rows` for `etl.Extract-Rows` if no other task has it."""
    names: dict[str, str] = {}
    for task_id in task_ids:
        name = _name(task_id)
        names[task_id] = name if name not in names.values() else _hashed(name, task_id)
    return names


def object_name(dag_id: str) -> str:
    """Return the name of an object for a DAG: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", dag_id.lower()).strip("-")[:63].strip("-") or "dag"


def is_param_name(name: str) -> bool:
    """Whether a param of Airflow can have the same name in Torpor."""
    return _WORD.fullmatch(name) is not None and name not in {"conf", "true", "false", "null", "in"}


def _name(task_id: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", task_id.lower()).strip("_")
    name = name if name[:1].isalpha() else f"t_{name}".rstrip("_")
    return name if len(name) <= NAME_MAX else _hashed(name, task_id)


def _hashed(name: str, task_id: str) -> str:
    return f"{name[: NAME_MAX - 6]}_{canonical.digest(task_id)[:5]}"

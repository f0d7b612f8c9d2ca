"""Checks the ServiceAccounts that tasks name against those of the same file. Pure.

A warning only: another program may add the mark when it applies the file.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torpor_wire import constants
from torpor_wire.objects import account_mark

from torpor_cli.linting import kinds
from torpor_cli.linting.finding import LintProblem, LintRule, Path, Severity

_FIELD = "serviceAccountName"


def unmarked(objects: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of the ServiceAccounts of a file whose owner does not let tasks use them."""
    accounts = (item for item in objects if (item.get("apiVersion"), item.get("kind")) == ("v1", "ServiceAccount"))
    return frozenset(str(_fields(item, "metadata").get("name")) for item in accounts if not _is_marked(item))


def problems(document: Mapping[str, Any], kind: str, names: frozenset[str]) -> Iterator[LintProblem]:
    """Yield the places of an object that name one of these accounts."""
    embedded = _fields(document, "spec") if kind == kinds.WORKFLOW else _fields(_fields(document, "spec"), "workflow")
    path: Path = ("spec",) if kind == kinds.WORKFLOW else ("spec", "workflow")
    for at, name in _named(embedded, path):
        if name in names and name != constants.TASK_ACCOUNT:
            message = (
                f"ServiceAccount {name} of this file may not be used by tasks: add the annotation "
                f"{constants.ACCOUNT_TOKENS}: {constants.TOKENS_ALLOWED} to it"
            )
            yield LintProblem(path=at, rule=LintRule.ACCOUNT, message=message, severity=Severity.WARNING)


def _named(spec: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield each place that names an account."""
    tasks, bodies = spec.get("tasks"), _fields(spec, "bodies")
    places: list[tuple[Path, object]] = [((*path, "defaults"), spec.get("defaults"))]
    places += [((*path, "bodies", str(name)), body) for name, body in bodies.items()]
    places += [((*path, "tasks", index), task) for index, task in enumerate(tasks if isinstance(tasks, list) else ())]
    for at, place in places:
        for part in ("pod", "object") if isinstance(place, Mapping) else ():
            if isinstance(name := _fields(place, part).get(_FIELD), str):
                yield (*at, part, _FIELD), name


def _is_marked(account: Mapping[str, Any]) -> bool:
    metadata = _fields(account, "metadata")
    return account_mark.allows_tasks({"metadata": {"annotations": dict(_fields(metadata, "annotations"))}})


def _fields(body: object, name: str) -> Mapping[str, Any]:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, Mapping) else {}

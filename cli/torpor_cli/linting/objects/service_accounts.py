"""Checks the ServiceAccounts that tasks name against those of the same file. Pure.

A warning only: another program may add the mark when it applies the file.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torpor_wire import constants
from torpor_wire.objects import account_mark

from torpor_cli.linting import kinds
from torpor_cli.linting.finding import LintProblem, LintRule, Path, Severity

_FIELD, _TOKEN = "serviceAccountName", "serviceAccountToken"


class FileAccount(NamedTuple):
    """A ServiceAccount of a file. `namespace` is empty if the file does not name it."""

    namespace: str
    name: str


def unmarked(objects: Iterable[Mapping[str, Any]]) -> frozenset[FileAccount]:
    """Return the ServiceAccounts of a file whose owner does not let tasks use them."""
    accounts = (item for item in objects if (item.get("apiVersion"), item.get("kind")) == ("v1", "ServiceAccount"))
    return frozenset(
        FileAccount(_namespace(item), str(_fields(item, "metadata").get("name")))
        for item in accounts
        if not _is_marked(item)
    )


def problems(document: Mapping[str, Any], kind: str, accounts: frozenset[FileAccount]) -> Iterator[LintProblem]:
    """Yield the places of an object that name one of these accounts, in its namespace or in one that is not named."""
    namespace = _namespace(document)
    names = {name for other, name in accounts if other == namespace or not (other and namespace)}
    embedded = _fields(document, "spec") if kind == kinds.WORKFLOW else _fields(_fields(document, "spec"), "workflow")
    path: Path = ("spec",) if kind == kinds.WORKFLOW else ("spec", "workflow")
    for at, name in _named(embedded, path):
        if name in names:
            message = (
                f"ServiceAccount {name} of this file may not be used by tasks: add the annotation "
                f"{constants.ACCOUNT_TOKENS}: {constants.TOKENS_ALLOWED} to it"
            )
            yield LintProblem(path=at, rule=LintRule.ACCOUNT, message=message, severity=Severity.WARNING)


def _named(spec: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield each place whose account needs the mark: that of all tasks only for its token, or an object."""
    tasks, bodies = spec.get("tasks"), _fields(spec, "bodies")
    places: list[tuple[Path, object]] = [((*path, "defaults"), spec.get("defaults"))]
    places += [((*path, "bodies", str(name)), body) for name, body in bodies.items()]
    places += [((*path, "tasks", index), task) for index, task in enumerate(tasks if isinstance(tasks, list) else ())]
    for at, place in places:
        for part in ("pod", "object") if isinstance(place, Mapping) else ():
            fields = _fields(place, part)
            name = fields.get(_FIELD)
            if isinstance(name, str) and (part == "object" or name != constants.TASK_ACCOUNT or fields.get(_TOKEN)):
                yield (*at, part, _FIELD), name


def _namespace(item: Mapping[str, Any]) -> str:
    namespace = _fields(item, "metadata").get("namespace")
    return namespace if isinstance(namespace, str) else ""


def _is_marked(account: Mapping[str, Any]) -> bool:
    metadata = _fields(account, "metadata")
    return account_mark.allows_tasks({"metadata": {"annotations": dict(_fields(metadata, "annotations"))}})


def _fields(body: object, name: str) -> Mapping[str, Any]:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, Mapping) else {}

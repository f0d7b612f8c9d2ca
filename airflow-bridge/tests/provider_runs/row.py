"""A row: an operator or a trigger, what its server answers, and how its task must end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PREFIX = "airflow.providers."
_GROUPS = {"apache", "atlassian", "cncf", "common", "dbt", "microsoft"}
"""The first part of the names of several providers."""
ANYTHING: Any = "<anything>"
"""The expected result of a row whose result does not matter. A text, since the key of a kept row contains it."""


def _nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """One run of a class.

    `path` is the class path after `airflow.providers.`. `connections` are URIs or JSON by connection id: variables of
    the pod and of the triggerer. `answers` are what the server says, by operation. `prepare` fills the server before.
    `result` is what the task returns; of an object, only the given keys are compared. `defers` are the names of the
    trigger classes that an operator must defer to, in any order; None for at least one.
    """

    family: str
    path: str
    case: str = ""
    is_trigger: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    connections: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[], None] = _nothing
    state: str = "Succeeded"
    result: Any = ANYTHING
    message: str = ""
    defers: Sequence[str] | None = None

    @property
    def class_path(self) -> str:
        """The whole class path."""
        return f"{PREFIX}{self.path}"

    @property
    def provider(self) -> str:
        """The provider, such as `cncf.kubernetes`."""
        return provider_of(self.path)

    @property
    def key(self) -> str:
        """A name that no other row has."""
        return f"{self.path}:{self.case}" if self.case else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """How the task of a row ended. `triggers` are the class paths that it waited for. `problem`: what is not right."""

    key: str
    family: str
    class_path: str
    is_trigger: bool
    state: str
    triggers: Sequence[str]
    problem: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the task did what the row expects."""
        return not self.problem


def provider_of(path: str) -> str:
    """Return the provider of a class, such as `cncf.kubernetes`, from its path after `airflow.providers.`."""
    parts = path.split(".")
    return ".".join(parts[: 2 if parts[0] in _GROUPS else 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEnd:
    """How a task ended. `unasked`: the answers that its server still has."""

    state: str
    result: Any = None
    message: str = ""
    triggers: Sequence[str] = ()
    unasked: Sequence[str] = ()


def judge(row: ProviderRow, end: RowEnd) -> str:
    """Return what is not right about the end of a task, an empty text if all is. Pure."""
    if end.state != row.state:
        return f"{end.state} instead of {row.state}: {end.message}"
    if row.message not in end.message:
        return f"the message is {end.message!r}"
    if row.result != ANYTHING and not _fits(row.result, _returned(end.result)):
        return f"the result is {end.result!r}"
    if not row.is_trigger and not end.triggers:
        return "it did not defer"
    names = {path.rpartition(".")[2] for path in end.triggers}
    if row.defers is not None and names != set(row.defers):
        return f"it deferred to {', '.join(sorted(names)) or 'nothing'}"
    return f"it did not use the answers of {', '.join(end.unasked)}" if end.unasked else ""


def _returned(result: Any) -> Any:
    """Return what the operator returned, without the further XComs, such as those of its links."""
    match result:
        case {"__xcoms__": {"return_value": returned}}:
            return returned
        case _:
            return result


def _fits(expected: Any, result: Any) -> bool:
    """Whether a result is the expected one, or an object that has its keys."""
    if isinstance(expected, Mapping) and isinstance(result, Mapping):
        return all(name in result and _fits(value, result[name]) for name, value in expected.items())
    return bool(expected == result)

"""Replaces tasks that the models reject, so that expressions of the others can be checked in the same round. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from torpor_crds.models import workflow as models

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_READ = frozenset({"params", "groups"})
"""Fields that expressions read. Without them, each expression would seem wrong."""
_ROUNDS = 4
"""A stub is valid; what is left after it are fields of the Workflow itself, which are then removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A spec that the models accept. `replaced` are names of tasks, whose problems are those of the schema."""

    spec: dict[str, Any]
    replaced: frozenset[str] = frozenset()

    def concerns(self, message: str) -> bool:
        """Whether a message names a task that was replaced, other than in its list of all tasks."""
        sentence = message.partition("; ")[0]
        return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sentence) for name in self.replaced)


def repair(spec: Mapping[str, Any]) -> Repaired | None:
    """Return the spec with a trigger in place of each task that is not valid; None if that does not help."""
    repaired, replaced = dict(spec), set[str]()
    for _ in range(_ROUNDS):
        try:
            models.WorkflowSpec.model_validate(repaired)
        except ValidationError as error:
            places = [each["loc"] for each in error.errors(include_url=False, include_input=False)]
        else:
            return Repaired(spec=repaired, replaced=frozenset(replaced))
        indexes = (place[1] for place in places if place[:1] == ("tasks",) and len(place) > 1)
        invalid = {index for index in indexes if isinstance(index, int)}
        names = {place[0] for place in places if place[:1] not in {(), ("tasks",)}}
        if names & _READ or not (invalid or names):
            return None
        repaired = {name: value for name, value in repaired.items() if name not in names}
        tasks = repaired.get("tasks")
        if isinstance(tasks, list):
            stubs = {index: _stub(tasks[index], index) for index in invalid}
            replaced |= {str(tasks[index]["name"]) for index in invalid if _has_name(tasks[index])}
            replaced |= {stub["name"] for stub in stubs.values()}
            repaired["tasks"] = [stubs.get(index, task) for index, task in enumerate(tasks)]
    return None


def _has_name(task: Any) -> bool:
    return isinstance(task, Mapping) and isinstance(task.get("name"), str)


def _stub(task: Any, index: int) -> dict[str, Any]:
    """Return a valid task with the name of an invalid one."""
    name = task["name"].replace("-", "_").lower() if _has_name(task) else ""
    return {"name": name if _NAME.fullmatch(name) else f"task_{index}", "trigger": {"class": "duration"}}

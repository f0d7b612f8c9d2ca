"""The body of a request that acts: which runs, tasks and Schedules, and what else the act needs. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_ui import errors
from torpor_ui.presentation.keys import InstanceKey, RunKey, ScheduleKey, instance_key, is_name, run_key, schedule_key

RUNS_MAX = 100
"""Runs, or Schedules, that one request changes."""
TASKS_MAX = 5000
_TEXT_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ActRequest:
    """What to change. `fields` is the rest of the body."""

    runs: tuple[RunKey, ...] = ()
    tasks: tuple[InstanceKey, ...] = ()
    schedules: tuple[ScheduleKey, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that change, each once."""
        named = [*(key.namespace for key in self.runs), *(key.namespace for key in self.schedules)]
        return tuple(dict.fromkeys(named or filter(None, [self.text("namespace")])))

    def only_run(self) -> RunKey:
        """Return the run. Raises ProblemError unless it is one."""
        if len(self.runs) != 1:
            raise errors.invalid(f"name one run, not {len(self.runs)}")
        return self.runs[0]

    def only_schedule(self) -> ScheduleKey:
        """Return the Schedule. Raises ProblemError unless it is one."""
        if len(self.schedules) != 1:
            raise errors.invalid(f"name one schedule, not {len(self.schedules)}")
        return self.schedules[0]

    def text(self, name: str) -> str:
        """Return a text of the body, empty without it. Raises ProblemError for anything else."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > _TEXT_MAX:
            raise errors.invalid(f"{name} must be a text of at most {_TEXT_MAX} characters")
        return value

    def name(self, field_name: str) -> str:
        """Return the name of an object, empty without it. Raises ProblemError for anything else."""
        value = self.text(field_name)
        if value and not is_name(value):
            raise errors.invalid(f"{field_name} {value[:60]!r} is not a name")
        return value

    def params(self) -> dict[str, Any]:
        """Return the values of params. Raises ProblemError unless they are an object."""
        value = self.fields.get("params")
        if value is None:
            return {}
        if not isinstance(value, dict) or not _is_json(value):
            raise errors.invalid("params must be an object of JSON values")
        return value

    def answers(self) -> dict[str, Any]:
        """Return the answers to the form of an approval. Raises ProblemError unless they are an object."""
        value = self.fields.get("answers", {})
        if not isinstance(value, dict) or not _is_json(value):
            raise errors.invalid("answers must be an object of JSON values")
        return value


def parse(body: Mapping[str, Any]) -> ActRequest:
    """Return the request of a body. Raises ProblemError (400)."""
    single = body.get("schedule")
    schedules = [single] if isinstance(single, str) else body.get("schedules")
    return ActRequest(
        runs=tuple(dict.fromkeys(map(run_key, _texts(body.get("runs"), "runs", RUNS_MAX)))),
        tasks=tuple(dict.fromkeys(map(instance_key, _texts(body.get("tasks"), "tasks", TASKS_MAX)))),
        schedules=tuple(dict.fromkeys(map(schedule_key, _texts(schedules, "schedules", RUNS_MAX)))),
        fields={name: value for name, value in body.items() if name not in {"runs", "tasks", "schedules", "schedule"}},
    )


def _texts(value: Any, name: str, most: int) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise errors.invalid(f"{name} must be a list of texts")
    if len(value) > most:
        raise errors.invalid(f"{len(value)} {name} are too many for one request; choose at most {most}")
    return value


def _is_json(value: Any) -> bool:
    """Whether no number is NaN or infinite, which JSON does not have."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, float) and not math.isfinite(item):
            return False
        left.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
    return True

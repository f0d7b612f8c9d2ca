"""The rows of the list of runs, live and archived, and which of them a viewer wants to see. Pure."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_views import json_fields, tones
from torpor_views.json_fields import Fields, moment, text
from torpor_wire import constants
from torpor_wire.state import RunState

COLUMNS = (
    *("key", "namespace", "name", "uid", "source", "state", "reason", "message", "created", "started", "completed"),
    *("duration", "progress", "template", "schedule", "running", "waiting", "failed", "tone"),
)
_MESSAGE_MAX = 300
_CANCELLED = "Cancelled"


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class RunRow:
    """A run in the list. Times are seconds since the epoch. `running`, `waiting` and `failed` count instances."""

    namespace: str
    name: str
    uid: str
    archived: bool = False
    state: str = RunState.PENDING
    reason: str = ""
    message: str = ""
    created: float | None = None
    started: float | None = None
    completed: float | None = None
    progress: str = ""
    template: str = ""
    schedule: str = ""
    running: int = 0
    waiting: int = 0
    failed: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What the page calls the run."""
        return f"archive/{self.namespace}/{self.uid}" if self.archived else f"live/{self.namespace}/{self.name}"

    def values(self) -> list[Any]:
        """Return the values of `COLUMNS`."""
        began = self.started or self.created
        duration = None if self.completed is None or began is None else max(self.completed - began, 0.0)
        return [
            *(self.key, self.namespace, self.name, self.uid, "archive" if self.archived else "live"),
            *(self.state, self.reason, self.message, self.created, self.started, self.completed, duration),
            *(self.progress, self.template, self.schedule, self.running, self.waiting, self.failed),
            tones.of_word(self.state),
        ]


def live(workflow: Fields) -> RunRow:
    """Return the row of a Workflow. Never raises for its content."""
    metadata, spec = json_fields.fields(workflow.get("metadata")), json_fields.fields(workflow.get("spec"))
    status = json_fields.fields(workflow.get("status"))
    verdict = _condition(status, "Succeeded")
    tasks = [json_fields.fields(task) for task in json_fields.objects(status.get("tasks"))]
    labels = _labels(metadata.get("labels"))
    return RunRow(
        namespace=sys.intern(text(metadata.get("namespace"))),
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        state=_state(status, verdict),
        reason=sys.intern(text(verdict.get("reason"))),
        message=_message(status, verdict),
        created=moment(metadata.get("creationTimestamp")),
        started=moment(status.get("startTime")),
        completed=moment(status.get("completionTime")),
        progress=text(status.get("progress")),
        template=sys.intern(text(json_fields.fields(spec.get("templateRef")).get("name"))),
        schedule=sys.intern(_schedule(spec, labels)),
        running=_sum(tasks, "active"),
        waiting=_sum(tasks, "deferred"),
        failed=_sum(tasks, "failed"),
        labels=labels,
    )


def archived(item: Fields) -> RunRow:
    """Return the row of an entry of the archive's list. Never raises for its content."""
    labels = _labels(item.get("labels"))
    return RunRow(
        namespace=text(item.get("namespace")),
        name=text(item.get("name")),
        uid=text(item.get("uid")),
        archived=True,
        state=text(item.get("state")),
        created=_moment(item.get("created")),
        completed=_moment(item.get("completed")),
        schedule=labels.get(constants.LABEL_SCHEDULE, ""),
        labels=labels,
    )


def _state(status: Fields, verdict: Fields) -> str:
    """The state in one word. Unlike `status.state`, it tells Cancelled from Failed."""
    state = sys.intern(str(text(status.get("state")) or RunState.PENDING))
    return _CANCELLED if state == RunState.FAILED and verdict.get("reason") == _CANCELLED else state


def _message(status: Fields, verdict: Fields) -> str:
    stalled = _condition(status, "Stalled")
    if stalled.get("status") == "True" and not status.get("completionTime"):
        return json_fields.one_line(stalled.get("message"), _MESSAGE_MAX)
    return json_fields.one_line(verdict.get("message"), _MESSAGE_MAX)


def _schedule(spec: Fields, labels: Mapping[str, str]) -> str:
    return text(json_fields.fields(spec.get("runOf")).get("schedule")) or labels.get(constants.LABEL_SCHEDULE, "")


def _condition(status: Fields, kind: str) -> Fields:
    return next((each for each in json_fields.objects(status.get("conditions")) if each.get("type") == kind), {})


def _labels(value: object) -> Mapping[str, str]:
    return {sys.intern(str(name)): text(label) for name, label in json_fields.fields(value).items()}


def _sum(tasks: list[Fields], count: str) -> int:
    return sum(max(json_fields.number(task.get(count)), 0) for task in tasks)


def _moment(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else moment(value)

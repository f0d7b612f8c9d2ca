"""An instance: one TaskRun, parsed leniently. Times are seconds since the epoch. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from torpor_wire import constants, instance_paths, names
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_views import json_fields
from torpor_views.json_fields import Fields, duration, is_given, moment, number, number_from_one, read_from, text

_HTTP_CALL = "http_call"
_AWAITED_RUN = re.compile(r"\b[Ww]orkflow ([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(?![^ :;])", re.ASCII)
"""The name of the Workflow in the messages of trigger `workflow`."""
_SECONDS_MAX = 1e12


def _word(value: object) -> str:
    return text(value) or State.SCHEDULED


def _state(value: object) -> State | None:
    return json_fields.word(State, _word(value))


def _trigger_pool(value: object) -> str:
    return text(value) or constants.DEFAULT_POOL


def _is_not_false(value: object) -> bool:
    return value is not False


def _path(spec: object) -> tuple[int, ...]:
    body = json_fields.fields(spec)
    groups = tuple(map(number, json_fields.items(body.get("groupIndexes"))))
    index = number(body.get("mapIndex"), constants.UNMAPPED)
    return groups if index == constants.UNMAPPED else (*groups, index)


def _kind(spec: object) -> str:
    """What the instance runs: python, container, run, object, http, or trigger for a wait without a pod."""
    body = json_fields.fields(spec)
    own = "http" if json_fields.fields(body.get("trigger")).get("class") == _HTTP_CALL else "trigger"
    return next((kind for kind in ("python", "container", "run", "object") if body.get(kind) is not None), own)


def _seconds(value: object) -> float:
    match value:
        case bool():
            return 0.0
        case int() | float() if 0 <= value < _SECONDS_MAX:
            return float(value)
        case _:
            return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """A transition of a TaskRun: the state that it entered, and the numbers afterwards.

    `state` is None for a state that this version does not know; `word` is the state as written. `count` is the number
    of transitions that the entry represents: 1, or more for the first entry of a history whose older entries were
    folded into it.
    """

    state: State | None
    word: str
    at: float
    attempt: int = read_from("attempt", number_from_one)
    segment: int = read_from("segment", number)
    launch: int = read_from("launch", number)
    reason: str = read_from("reason", text)
    pod: str = read_from("pod", text)
    trigger: str = read_from("trigger", text)
    count: int = read_from("count", json_fields.count)

    @classmethod
    def parse(cls, body: Fields) -> Self | None:
        """Return the entry; None without a time."""
        at, word = moment(body.get("at")), text(body.get("state"))
        if at is None:
            return None
        return cls(at=at, state=json_fields.word(State, word), word=word, **json_fields.read(cls, body))


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerView:
    """What a deferred instance waits for. `kwargs` is JSON text."""

    class_name: str
    kwargs: str = "{}"
    key: str = read_from("key", text)
    shard: int = read_from("shard", number)
    waits_for: str = read_from("waitsFor", text)
    users: tuple[str, ...] = read_from("approvers.users", json_fields.texts)
    groups: tuple[str, ...] = read_from("approvers.groups", json_fields.texts)

    @property
    def moment(self) -> float | None:
        """When a trigger that only waits for a moment fires; None for any other."""
        if self.class_name != "time":
            return None
        return moment(json_fields.fields(json_fields.decoded(self.kwargs)).get("at"))

    @classmethod
    def parse(cls, body: object) -> Self | None:
        """Return the trigger of `status.trigger`; None if there is none."""
        trigger = json_fields.fields(body)
        if not trigger:
            return None
        kwargs = text(trigger.get("kwargs")) or "{}"
        return cls(class_name=text(trigger.get("class")), kwargs=kwargs, **json_fields.read(cls, trigger))


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceView:
    """One TaskRun.

    `path`: its index in each group, outermost first, then its own index if its task is mapped. `state` is None for a
    state that this version does not know; `word` is the state as written. `limit`: retries that the policy allows.
    `waits_first`: it begins with a trigger. `source`: the ConfigMap with its code; `code_hash`: hash of the files that
    its last pod has mounted. `pod`: name of the pod that claimed the segment.
    """

    namespace: str = read_from("metadata.namespace", text)
    name: str = read_from("metadata.name", text)
    uid: str = read_from("metadata.uid", text)
    created: float | None = read_from("metadata.creationTimestamp", moment)
    deleting: float | None = read_from("metadata.deletionTimestamp", moment)
    workflow: str = read_from("spec.workflow.name", text)
    workflow_uid: str = read_from("spec.workflow.uid", text)
    task: str = read_from("spec.task", text)
    path: tuple[int, ...] = read_from("spec", _path)
    display_name: str = read_from("spec.displayName", text)
    pool: str = read_from("spec.pool", text)
    trigger_pool: str = read_from("spec.triggerPool", _trigger_pool)
    service_account: str = read_from("spec.serviceAccount", text)
    image: str = read_from("spec.image", text)
    source: str = read_from("spec.source.configMap", text)
    kind: str = read_from("spec", _kind)
    waits_first: bool = read_from("spec.trigger", is_given)
    chosen_run: str = read_from("spec.run.name", text)
    timeout: float | None = read_from("spec.timeout", duration)
    timeout_while_deferred: bool = read_from("spec.timeoutWhileDeferred", _is_not_false)
    limit: int = read_from("spec.retries.limit", number)
    clears: int = read_from("spec.clears", number)
    state: State | None = read_from("status.state", _state)
    word: str = read_from("status.state", _word)
    attempt: int = read_from("status.attempt", number_from_one)
    segment: int = read_from("status.segment", number)
    launch: int = read_from("status.launch", number)
    pod: str = read_from("status.pod.name", text)
    code_hash: str = read_from("status.pod.source", text)
    started_at: float | None = read_from("status.startedAt", moment)
    first_started_at: float | None = read_from("status.firstStartedAt", moment)
    deferred_at: float | None = read_from("status.deferredAt", moment)
    deferred_seconds: float = read_from("status.deferredSeconds", _seconds)
    fired_at: float | None = read_from("status.firedAt", moment)
    retry_at: float | None = read_from("status.retryAt", moment)
    completed: float | None = read_from("status.completionTime", moment)
    deadline: float | None = read_from("status.deadline", moment)
    cancel: float | None = read_from("status.cancel", moment)
    trigger: TriggerView | None = read_from("status.trigger", TriggerView.parse)
    reason: str = read_from("status.reason", text)
    message: str = read_from("status.message", text)
    stored: bool = read_from("status.stored", is_given)
    raw_history: Sequence[Any] = read_from("status.history", json_fields.items)

    @classmethod
    def parse(cls, body: Fields) -> Self:
        """Return the instance of a TaskRun's JSON. Never raises; a field that cannot be read has its default."""
        return cls(**json_fields.read(cls, body))

    @property
    def history(self) -> tuple[HistoryEntry, ...]:
        """The transitions, oldest first; empty for an object of an older version."""
        entries = (HistoryEntry.parse(item) for item in json_fields.objects(self.raw_history))
        return tuple(entry for entry in entries if entry is not None)

    @property
    def index(self) -> str:
        """The path as the commands take it, such as `0.1`; empty if the task is neither mapped nor in a group."""
        return instance_paths.written(self.path)

    @property
    def ref(self) -> str:
        """The instance as the commands take it: `task` or `task/0.1`."""
        return f"{self.task}/{self.index}" if self.path else self.task

    @property
    def ended(self) -> bool:
        """Whether the state is terminal."""
        return self.state in TERMINAL

    @property
    def pod_name(self) -> str:
        """The name of the pod of the present segment, whether or not it exists."""
        return self.pod or names.pod(self.name, self.attempt, self.segment, self.launch)

    @property
    def child_run(self) -> str:
        """The name of the run that the present attempt starts, or has started; empty for any other task.

        The trigger, and the message of its end, have the name also of a run that an earlier TaskRun has started.
        """
        if self.kind != "run":
            return ""
        kwargs = {} if self.trigger is None else json_fields.fields(json_fields.decoded(self.trigger.kwargs))
        if awaited := text(kwargs.get("name")):
            return awaited
        if self.ended and (named := _AWAITED_RUN.search(self.message)) is not None:
            return named[1]
        if self.chosen_run:
            return names.chosen_run(self.chosen_run, self.attempt)
        return names.child_run(self.name, self.uid, self.attempt)

    @property
    def stuck(self) -> bool:
        """Whether its reason says what keeps it from going on. That a wait goes on as it should is no such reason."""
        return not self.ended and self.reason not in {"", Reason.WAITING, Reason.FIRED, Reason.TIMED_OUT}

    @property
    def started(self) -> float | None:
        """When the first attempt started."""
        return self.first_started_at or self.started_at

"""An instance: one TaskRun, parsed leniently. Times are seconds since the epoch. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from torpor_wire import constants, instance_paths, names
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_views import json_fields
from torpor_views.json_fields import Fields

_SECONDS_MAX = 1e12


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
    attempt: int = 1
    segment: int = 0
    launch: int = 0
    reason: str = ""
    pod: str = ""
    trigger: str = ""
    count: int = 1

    @classmethod
    def parse(cls, body: Fields) -> Self | None:
        """Return the entry; None without a time."""
        at, word = json_fields.moment(body.get("at")), json_fields.text(body.get("state"))
        if at is None:
            return None
        return cls(
            state=json_fields.word(State, word),
            word=word,
            at=at,
            attempt=json_fields.number(body.get("attempt"), 1),
            segment=json_fields.number(body.get("segment")),
            launch=json_fields.number(body.get("launch")),
            reason=json_fields.text(body.get("reason")),
            pod=json_fields.text(body.get("pod")),
            trigger=json_fields.text(body.get("trigger")),
            count=max(json_fields.number(body.get("count"), 1), 1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerView:
    """What a deferred instance waits for. `kwargs` is JSON text."""

    class_name: str
    kwargs: str = "{}"
    key: str = ""
    shard: int = 0
    waits_for: str = ""
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def moment(self) -> float | None:
        """When a trigger that only waits for a moment fires; None for any other."""
        if self.class_name != "time":
            return None
        return json_fields.moment(json_fields.fields(json_fields.decoded(self.kwargs)).get("at"))

    @classmethod
    def parse(cls, body: object) -> Self | None:
        """Return the trigger of `status.trigger`; None if there is none."""
        read = json_fields.fields(body)
        if not read:
            return None
        approvers = json_fields.fields(read.get("approvers"))
        return cls(
            class_name=json_fields.text(read.get("class")),
            kwargs=json_fields.text(read.get("kwargs")) or "{}",
            key=json_fields.text(read.get("key")),
            shard=json_fields.number(read.get("shard")),
            waits_for=json_fields.text(read.get("waitsFor")),
            users=json_fields.texts(approvers.get("users")),
            groups=json_fields.texts(approvers.get("groups")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceView:
    """One TaskRun.

    `path`: its index in each group, outermost first, then its own index if its task is mapped. `state` is None for a
    state that this version does not know; `word` is the state as written. `limit`: retries that the policy allows.
    `waits_first`: it begins with a trigger. `source`: the ConfigMap with its code; `code_hash`: hash of the files that
    its last pod has mounted. `pod`: name of the pod that claimed the segment.
    """

    namespace: str
    name: str
    uid: str
    workflow: str
    workflow_uid: str
    task: str
    path: tuple[int, ...] = ()
    map_index: int = constants.UNMAPPED
    display_name: str = ""
    pool: str = ""
    trigger_pool: str = constants.DEFAULT_POOL
    service_account: str = ""
    image: str = ""
    source: str = ""
    code_hash: str = ""
    kind: str = "python"
    waits_first: bool = False
    timeout: float | None = None
    timeout_while_deferred: bool = True
    limit: int = 0
    clears: int = 0
    created: float | None = None
    deleting: float | None = None
    state: State | None = State.SCHEDULED
    word: str = State.SCHEDULED
    attempt: int = 1
    segment: int = 0
    launch: int = 0
    pod: str = ""
    started_at: float | None = None
    first_started_at: float | None = None
    deferred_at: float | None = None
    deferred_seconds: float = 0.0
    fired_at: float | None = None
    retry_at: float | None = None
    completed: float | None = None
    deadline: float | None = None
    cancel: float | None = None
    timed_out: bool = False
    trigger: TriggerView | None = None
    reason: str = ""
    message: str = ""
    has_result: bool = False
    stored: bool = False
    raw_history: Sequence[Any] = ()

    @classmethod
    def parse(cls, body: Fields) -> Self:
        """Return the instance of a TaskRun's JSON. Never raises; a field that cannot be read has its default."""
        metadata, spec = json_fields.fields(body.get("metadata")), json_fields.fields(body.get("spec"))
        status, workflow = json_fields.fields(body.get("status")), json_fields.fields(spec.get("workflow"))
        text, number, moment = json_fields.text, json_fields.number, json_fields.moment
        word = text(status.get("state")) or State.SCHEDULED
        index = number(spec.get("mapIndex"), constants.UNMAPPED)
        groups = tuple(number(value) for value in json_fields.items(spec.get("groupIndexes")))
        return cls(
            namespace=text(metadata.get("namespace")),
            name=text(metadata.get("name")),
            uid=text(metadata.get("uid")),
            workflow=text(workflow.get("name")),
            workflow_uid=text(workflow.get("uid")),
            task=text(spec.get("task")),
            path=groups if index == constants.UNMAPPED else (*groups, index),
            map_index=index,
            display_name=text(spec.get("displayName")),
            pool=text(spec.get("pool")),
            trigger_pool=text(spec.get("triggerPool")) or constants.DEFAULT_POOL,
            service_account=text(spec.get("serviceAccount")),
            image=text(spec.get("image")),
            source=text(json_fields.fields(spec.get("source")).get("configMap")),
            code_hash=text(json_fields.fields(status.get("pod")).get("source")),
            kind=_kind(spec),
            waits_first=bool(json_fields.fields(spec.get("trigger"))),
            timeout=json_fields.duration(spec.get("timeout")),
            timeout_while_deferred=spec.get("timeoutWhileDeferred") is not False,
            limit=number(json_fields.fields(spec.get("retries")).get("limit")),
            clears=number(spec.get("clears")),
            created=moment(metadata.get("creationTimestamp")),
            deleting=moment(metadata.get("deletionTimestamp")),
            state=json_fields.word(State, word),
            word=word,
            attempt=number(status.get("attempt"), 1),
            segment=number(status.get("segment")),
            launch=number(status.get("launch")),
            pod=text(json_fields.fields(status.get("pod")).get("name")),
            started_at=moment(status.get("startedAt")),
            first_started_at=moment(status.get("firstStartedAt")),
            deferred_at=moment(status.get("deferredAt")),
            deferred_seconds=_seconds(status.get("deferredSeconds")),
            fired_at=moment(status.get("firedAt")),
            retry_at=moment(status.get("retryAt")),
            completed=moment(status.get("completionTime")),
            deadline=moment(status.get("deadline")),
            cancel=moment(status.get("cancel")),
            timed_out=json_fields.truth(status.get("timedOut")),
            trigger=TriggerView.parse(status.get("trigger")),
            reason=text(status.get("reason")),
            message=text(status.get("message")),
            has_result=status.get("result") is not None or status.get("stored") is not None,
            stored=bool(json_fields.fields(status.get("stored"))),
            raw_history=json_fields.items(status.get("history")),
        )

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
    def stuck(self) -> bool:
        """Whether its reason says what keeps it from going on. That a wait goes on as it should is no such reason."""
        return not self.ended and self.reason not in {"", Reason.WAITING, Reason.FIRED, Reason.TIMED_OUT}

    @property
    def started(self) -> float | None:
        """When the first attempt started."""
        return self.first_started_at or self.started_at


def _kind(spec: Fields) -> str:
    """What the instance runs: python, container, or trigger for a wait without a pod."""
    return next((kind for kind in ("python", "container") if spec.get(kind) is not None), "trigger")


def _seconds(value: object) -> float:
    match value:
        case bool():
            return 0.0
        case int() | float() if 0 <= value < _SECONDS_MAX:
            return float(value)
        case _:
            return 0.0

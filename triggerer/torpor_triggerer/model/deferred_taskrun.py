"""A deferred TaskRun, reduced to the fields that the triggerer needs. Pure.

`torpor_crds.models.segment.Waiting` is the API object's field, validated by pydantic. `StoredTrigger` is the same in
memory: interned strings, no model. Neither is trusted before `usercode.validation` has checked it.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from torpor_crds.models import taskrun
from torpor_crds.models.segment import Waiting
from torpor_wire import constants, retry, times, trigger
from torpor_wire.approvers import Approvers
from torpor_wire.deadline import attempt_deadline, is_attempt_deadline
from torpor_wire.state import State
from torpor_wire.transitions import NO_HISTORY, HistorySize, Pin

_PARAMS, _RUN = "params", "run"


class StoredTrigger(NamedTuple):
    """`status.trigger`, as it is stored."""

    class_name: str
    kwargs: str
    key: str
    shard: int
    waits_for: str
    approvers: Approvers | None = None


class SegmentId(NamedTuple):
    """Identifies one wait of one TaskRun: another attempt or segment is another wait."""

    uid: str
    attempt: int
    segment: int


class EndExpressions(NamedTuple):
    """`spec.result` and `spec.failWhen` of a task without a pod: CEL over its event, its params and `run`."""

    result: str | None
    fail_when: str | None
    params: str
    """JSON text of the params that the expressions use."""
    run: str = "{}"
    """JSON text of the fields of `run` that the expressions use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerWait:
    """One wait. Times are seconds since the epoch; `deferred_before` is seconds of earlier waits of the attempt.

    `resumes`: a pod or the Schedule continues after the event, else the task ends. `of_schedule`: it is the source of a
    Schedule. `of_container`: the pod receives the event in its environment. `on_timeout`: a pod also continues after a
    timeout. `timeout_is_final`: no attempt follows a timeout. `account`: the ServiceAccount that must be allowed to
    read the Secrets. `run_depth`: how many runs contain the run that the wait is for; 0 for any other wait.
    """

    namespace: str
    name: str
    segment_id: SegmentId
    created: str
    pool: str
    account: str
    trigger: StoredTrigger | None
    deferred_at: float
    deferred_before: float
    deadline: float | None
    deadline_is_attempts: bool
    cancelled: bool
    resumes: bool
    of_schedule: bool = False
    of_container: bool = False
    run_depth: int = 0
    on_timeout: bool
    timeout_is_final: bool
    expressions: EndExpressions | None
    retries: retry.Policy
    history: HistorySize = NO_HISTORY

    @property
    def pin(self) -> Pin:
        """What must still hold when the outcome is written."""
        uid, attempt, segment = self.segment_id
        return Pin(uid, self.created, State.DEFERRED, attempt, segment, history=self.history)

    def deferred(self, now: float) -> float:
        """Return the seconds for which the attempt has been deferred, if this wait ends now."""
        return self.deferred_before + max(now - self.deferred_at, 0.0)

    @property
    def tag(self) -> str:
        """The prefix of its log lines: namespace, TaskRun, attempt and segment."""
        return tag(self.namespace, self.name, self.segment_id)

    @property
    def log_fields(self) -> Mapping[str, str | int]:
        """The fields of its lines of JSON."""
        return log_fields(self.namespace, self.name, self.segment_id)

    @property
    def subject(self) -> str:
        """What the wait is for, as part of a sentence."""
        return self.trigger.waits_for if self.trigger and self.trigger.waits_for else "its trigger"

    @property
    def awaited(self) -> str:
        """What follows the word "waits"."""
        return trigger.awaited(self.subject)

    @property
    def shard(self) -> int:
        """The shard that the TaskRun claims."""
        return self.trigger.shard if self.trigger else 0


def tag(namespace: str, name: str, segment_id: SegmentId) -> str:
    """Return the prefix of the log lines of a wait: namespace, TaskRun, attempt and segment."""
    return f"[{namespace}/{name} a{segment_id.attempt} s{segment_id.segment}]"


def log_fields(namespace: str, name: str, segment_id: SegmentId) -> dict[str, str | int]:
    """Return the fields of the log lines of a wait, if they are JSON."""
    uid, attempt, segment = segment_id
    return {"namespace": namespace, "taskrun": name, "taskrunUid": uid, "attempt": attempt, "segment": segment}


def parse(raw: Mapping[str, Any]) -> TriggerWait:
    """Return the wait of a TaskRun's JSON. Raises ValueError if it is not a TaskRun."""
    parsed = taskrun.parse(raw)
    metadata, spec, status = parsed.metadata, parsed.spec, parsed.status
    deadline = None if status.deadline is None else times.epoch(status.deadline)
    limit = attempt_deadline(status.started_at, spec.timeout) if spec.timeout_while_deferred else None
    return TriggerWait(
        namespace=sys.intern(metadata.namespace),
        name=metadata.name,
        segment_id=SegmentId(metadata.uid, status.attempt, status.segment),
        created=sys.intern(metadata.creation_timestamp),
        pool=sys.intern(spec.trigger_pool),
        account=sys.intern(spec.service_account or constants.TASK_ACCOUNT),
        trigger=_stored_trigger(status.trigger),
        deferred_at=times.epoch(status.deferred_at) if status.deferred_at else 0.0,
        deferred_before=status.deferred_seconds or 0.0,
        deadline=deadline,
        deadline_is_attempts=is_attempt_deadline(deadline, limit),
        cancelled=status.cancel is not None,
        resumes=spec.python is not None or spec.container is not None or spec.schedule is not None,
        of_schedule=spec.schedule is not None,
        of_container=spec.container is not None,
        run_depth=spec.run.depth if spec.run is not None else 0,
        on_timeout=status.next is not None and status.next.on_timeout is not None,
        timeout_is_final=status.next is not None and bool(status.next.timeout_is_final),
        expressions=_end_expressions(spec),
        retries=_interned_policy(spec.retries.policy()),
        history=status.history,
    )


@lru_cache(maxsize=256)
def _interned_policy(policy: retry.Policy) -> retry.Policy:
    """One object for all equal policies, since nearly all waits have the same."""
    return policy


def _stored_trigger(waiting: Waiting | None) -> StoredTrigger | None:
    if waiting is None:
        return None
    named = waiting.approvers
    return StoredTrigger(
        class_name=sys.intern(waiting.class_name),
        kwargs=waiting.kwargs,
        key=waiting.key,
        shard=waiting.shard,
        waits_for=waiting.waits_for,
        approvers=None if named is None else Approvers(named.users, named.groups),
    )


def _end_expressions(spec: taskrun.TaskRunSpec) -> EndExpressions | None:
    if spec.python is not None or (spec.result is None and spec.fail_when is None):
        return None
    values = {argument.name: argument.value or "{}" for argument in spec.arguments}
    return EndExpressions(spec.result, spec.fail_when, values.get(_PARAMS, "{}"), values.get(_RUN, "{}"))

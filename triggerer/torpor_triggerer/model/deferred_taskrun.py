"""A deferred TaskRun as the triggerer needs it: a few fields, since thousands are held.

Pure. What it says about its trigger is what somebody wrote, not yet believed: see `admission`.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from torpor_api.models import taskrun
from torpor_api.models.deferral import Waiting
from torpor_wire import constants, retry, times
from torpor_wire.approvers import Approvers
from torpor_wire.deadline import attempt_deadline, is_attempt_deadline
from torpor_wire.state import State
from torpor_wire.transitions import Pin

_PARAMS = "params"


class Asked(NamedTuple):
    """`status.trigger` as it stands there."""

    class_name: str
    kwargs: str
    key: str
    shard: int
    waits_for: str
    approvers: Approvers | None = None


class Turn(NamedTuple):
    """One wait of one TaskRun: another attempt or segment is another wait."""

    uid: str
    attempt: int
    segment: int


class Ending(NamedTuple):
    """How a task that is only a wait ends: `spec.result` and `spec.failWhen`, CEL over its event and its params."""

    result: str | None
    fail_when: str | None
    params: str
    """JSON text of those params of the run that the expressions use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Moments are seconds since the epoch, `deferred_before` seconds of earlier waits of the attempt.

    `resumes`: a pod goes on after the event, rather than the task ending; `on_timeout`: also when it took too
    long; `timeout_is_final`: no other attempt follows then.
    `account` is who must be allowed to read the Secrets that the trigger refers to.
    """

    namespace: str
    name: str
    turn: Turn
    created: str
    pool: str
    account: str
    asked: Asked | None
    deferred_at: float
    deferred_before: float
    deadline: float | None
    deadline_is_the_tasks: bool
    cancelled: bool
    resumes: bool
    on_timeout: bool
    timeout_is_final: bool
    ending: Ending | None
    retries: retry.Policy

    @property
    def pin(self) -> Pin:
        """What must still hold when its outcome is written."""
        return Pin(self.turn.uid, self.created, State.DEFERRED, self.turn.attempt, self.turn.segment)

    def deferred(self, now: float) -> float:
        """How many seconds the attempt has been deferred, if this wait is over now."""
        return self.deferred_before + max(now - self.deferred_at, 0.0)

    @property
    def tag(self) -> str:
        """How its lines are marked in the log: namespace, TaskRun, attempt and segment."""
        return f"[{self.namespace}/{self.name} a{self.turn.attempt} s{self.turn.segment}]"

    @property
    def subject(self) -> str:
        """What is waited for, in a sentence."""
        return self.asked.waits_for if self.asked and self.asked.waits_for else "its trigger"

    @property
    def awaited(self) -> str:
        """What follows the word "waits": `for http ...`, or `until` a moment, which `waitsFor` has already."""
        return self.subject if self.subject.startswith("until ") else f"for {self.subject}"

    @property
    def shard(self) -> int:
        """The shard it says it belongs to."""
        return self.asked.shard if self.asked else 0


def parse(raw: Mapping[str, Any]) -> Wait:
    """A wait from the API server's JSON. Raises ValueError for what is no TaskRun."""
    found = taskrun.parse(raw)
    metadata, spec, status = found.metadata, found.spec, found.status
    deadline = None if status.deadline is None else times.epoch(status.deadline)
    limit = attempt_deadline(status.started_at, spec.timeout) if spec.timeout_while_deferred else None
    return Wait(
        namespace=sys.intern(metadata.namespace),
        name=metadata.name,
        turn=Turn(metadata.uid, status.attempt, status.segment),
        created=sys.intern(metadata.creation_timestamp),
        pool=sys.intern(spec.trigger_pool),
        account=sys.intern(spec.service_account or constants.TASK_ACCOUNT),
        asked=_asked(status.trigger),
        deferred_at=times.epoch(status.deferred_at) if status.deferred_at else 0.0,
        deferred_before=status.deferred_seconds or 0.0,
        deadline=deadline,
        deadline_is_the_tasks=is_attempt_deadline(deadline, limit),
        cancelled=status.cancel is not None,
        resumes=spec.python is not None,
        on_timeout=status.next is not None and status.next.on_timeout is not None,
        timeout_is_final=status.next is not None and bool(status.next.timeout_is_final),
        ending=_ending(spec),
        retries=_the_one(spec.retries.policy()),
    )


@lru_cache(maxsize=256)
def _the_one(policy: retry.Policy) -> retry.Policy:
    """Of all that are equal, since nearly all waits have the same."""
    return policy


def _asked(waiting: Waiting | None) -> Asked | None:
    if waiting is None:
        return None
    named = waiting.approvers
    return Asked(
        class_name=sys.intern(waiting.class_name),
        kwargs=waiting.kwargs,
        key=waiting.key,
        shard=waiting.shard,
        waits_for=waiting.waits_for,
        approvers=None if named is None else Approvers(named.users, named.groups),
    )


def _ending(spec: taskrun.TaskRunSpec) -> Ending | None:
    if spec.python is not None or (spec.result is None and spec.fail_when is None):
        return None
    params = next((argument.value for argument in spec.arguments if argument.name == _PARAMS), None)
    return Ending(spec.result, spec.fail_when, params or "{}")

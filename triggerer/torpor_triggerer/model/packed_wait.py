"""A wait in few bytes: what tens of thousands of waits are between their start and their end. Pure.

Values that most waits have in common are one object for all of them, and the rest is one string of bytes. What every
decision of the scheduler reads stays an attribute; for everything else `unpack` returns the whole wait.
"""

import marshal
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from torpor_kubernetes.cache.store import ObjectKey
from torpor_wire import retry
from torpor_wire.approvers import Approvers
from torpor_wire.transitions import HistorySize

from torpor_triggerer.model import deferred_taskrun
from torpor_triggerer.model.deferred_taskrun import EndExpressions, SegmentId, StoredTrigger, TriggerWait

_COMMON_MAX = 4096
"""Combinations of common values that are one object each; further ones are an object for each wait."""

_Texts: TypeAlias = tuple[str, float, float | None, tuple[str, str, str] | None, tuple[str, str] | None]
"""created, deferred_before, deadline; kwargs, key and waits_for of the trigger; params and run of the expressions."""


class _Common(NamedTuple):
    """The values that many waits have in common."""

    namespace: str
    attempt: int
    segment: int
    pool: str
    account: str
    class_name: str
    approvers: Approvers | None
    deadline_is_attempts: bool
    cancelled: bool
    resumes: bool
    of_schedule: bool
    of_container: bool
    run_depth: int
    on_timeout: bool
    timeout_is_final: bool
    result: str | None
    fail_when: str | None
    retries: retry.Policy
    history: HistorySize


class PackedWait:
    """One wait. `since`: the second from which it counts for the scheduler; set when it is served."""

    __slots__ = ("_common", "_texts", "deferred_at", "name", "shard", "since", "uid")

    def __init__(self, wait: TriggerWait) -> None:
        self.name = wait.name
        self.uid = wait.segment_id.uid
        self.deferred_at = wait.deferred_at
        self.shard = wait.shard
        self.since = 0
        self._common = _interned_common(_common(wait))
        self._texts = marshal.dumps(_texts(wait))

    @property
    def namespace(self) -> str:
        """The namespace of the TaskRun."""
        return self._common.namespace

    @property
    def class_name(self) -> str:
        """The registered name of its trigger; empty if it has none."""
        return self._common.class_name

    @property
    def run_depth(self) -> int:
        """How many runs contain the run that it is for; 0 for any other wait."""
        return self._common.run_depth

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._common.cancelled

    @property
    def key(self) -> ObjectKey:
        """The key of the TaskRun."""
        return ObjectKey(self._common.namespace, self.name)

    @property
    def segment_id(self) -> SegmentId:
        """Identifies the wait among those of all TaskRuns."""
        return SegmentId(self.uid, self._common.attempt, self._common.segment)

    @property
    def tag(self) -> str:
        """The prefix of its log lines."""
        return deferred_taskrun.tag(self.namespace, self.name, self.segment_id)

    @property
    def log_fields(self) -> Mapping[str, str | int]:
        """The fields of its log lines, if they are JSON."""
        return deferred_taskrun.log_fields(self.namespace, self.name, self.segment_id)

    def is_same(self, other: "PackedWait") -> bool:
        """Return whether both are the same deferral. A changed `deferredAt` makes another one."""
        return (self.segment_id, self.deferred_at) == (other.segment_id, other.deferred_at)

    def unpack(self) -> TriggerWait:
        """Return the whole wait."""
        common = self._common
        texts: _Texts = marshal.loads(self._texts)  # noqa: S302 - these bytes never leave the process
        created, deferred_before, deadline, trigger, _ = texts
        return TriggerWait(
            namespace=common.namespace,
            name=self.name,
            segment_id=self.segment_id,
            created=created,
            pool=common.pool,
            account=common.account,
            trigger=None if trigger is None else _stored_trigger(common, trigger, self.shard),
            deferred_at=self.deferred_at,
            deferred_before=deferred_before,
            deadline=deadline,
            deadline_is_attempts=common.deadline_is_attempts,
            cancelled=common.cancelled,
            resumes=common.resumes,
            of_schedule=common.of_schedule,
            of_container=common.of_container,
            run_depth=common.run_depth,
            on_timeout=common.on_timeout,
            timeout_is_final=common.timeout_is_final,
            expressions=_expressions(common, texts),
            retries=common.retries,
            history=common.history,
        )


def parse(raw: Mapping[str, Any]) -> PackedWait:
    """Return the wait of a TaskRun's JSON. Raises ValueError if it is not a TaskRun."""
    return PackedWait(deferred_taskrun.parse(raw))


@lru_cache(maxsize=_COMMON_MAX)
def _interned_common(common: _Common) -> _Common:
    """One object for all equal ones."""
    return common


def _common(wait: TriggerWait) -> _Common:
    stored, expressions = wait.trigger, wait.expressions
    return _Common(
        namespace=wait.namespace,
        attempt=wait.segment_id.attempt,
        segment=wait.segment_id.segment,
        pool=wait.pool,
        account=wait.account,
        class_name=stored.class_name if stored else "",
        approvers=stored.approvers if stored else None,
        deadline_is_attempts=wait.deadline_is_attempts,
        cancelled=wait.cancelled,
        resumes=wait.resumes,
        of_schedule=wait.of_schedule,
        of_container=wait.of_container,
        run_depth=wait.run_depth,
        on_timeout=wait.on_timeout,
        timeout_is_final=wait.timeout_is_final,
        result=expressions.result if expressions else None,
        fail_when=expressions.fail_when if expressions else None,
        retries=wait.retries,
        history=wait.history,
    )


def _texts(wait: TriggerWait) -> _Texts:
    stored, expressions = wait.trigger, wait.expressions
    return (
        wait.created,
        wait.deferred_before,
        wait.deadline,
        None if stored is None else (stored.kwargs, stored.key, stored.waits_for),
        None if expressions is None else (expressions.params, expressions.run),
    )


def _stored_trigger(common: _Common, texts: tuple[str, str, str], shard: int) -> StoredTrigger:
    kwargs, key, waits_for = texts
    return StoredTrigger(common.class_name, kwargs, key, shard, waits_for, common.approvers)


def _expressions(common: _Common, texts: _Texts) -> EndExpressions | None:
    values = texts[4]
    return None if values is None else EndExpressions(common.result, common.fail_when, *values)

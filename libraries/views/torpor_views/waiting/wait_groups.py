"""All waits of a namespace or a cluster, grouped by pool and source, and how many looks serve them. Pure."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from torpor_wire.cron.ticks import Ticks
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_views import json_fields
from torpor_views.instance import InstanceView, TriggerView
from torpor_views.json_fields import Fields
from torpor_views.waiting import wait_source
from torpor_views.waiting.wait_progress import WaitProgress

_STUCK = frozenset({Reason.QUEUED, Reason.POOL_UNSERVED, Reason.FIRE_FORBIDDEN})


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitView:
    """A deferred TaskRun. `shares`: how many other waits its running trigger serves. Times in seconds since the epoch.

    `reason`: the word on the TaskRun, such as Waiting, Queued or PoolUnserved; empty if none.
    """

    namespace: str
    workflow: str
    ref: str
    taskrun: str
    waits_for: str
    reason: str
    look: str
    tries: int
    since: float | None
    last_at: float | None
    next_at: float | None
    deadline: float | None
    shares: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitGroup:
    """The waits of a pool on one source, oldest first.

    `triggers`: running triggers that serve them, since equal waits share one. `queries`: polls that serve them in each
    round, since triggers on one source share a query. `stuck`: waits that no triggerer looks after. `next_at`: the
    earliest next look that is known and not over.
    """

    pool: str
    class_name: str
    source: str
    waits: tuple[WaitView, ...]
    triggers: int
    queries: int
    stuck: int
    oldest: float | None
    next_at: float | None


def build(taskruns: Iterable[Fields], *, now: float) -> tuple[WaitGroup, ...]:
    """Return the waits among TaskRuns (JSON, of any runs and namespaces), the largest groups first."""
    groups: dict[tuple[str, str, str], list[tuple[InstanceView, TriggerView, wait_source.WaitSource]]] = {}
    for body in taskruns:
        instance = InstanceView.parse(json_fields.fields(body))
        if instance.state is State.DEFERRED:
            trigger = instance.trigger or TriggerView(class_name="unknown")
            source = wait_source.wait_source(instance, trigger)
            groups.setdefault((instance.trigger_pool, trigger.class_name, source.label), []).append(
                (instance, trigger, source)
            )
    built = (_group(key, members, now) for key, members in groups.items())
    return tuple(sorted(built, key=lambda group: (-len(group.waits), group.pool, group.class_name, group.source)))


def _group(
    key: tuple[str, str, str], members: list[tuple[InstanceView, TriggerView, wait_source.WaitSource]], now: float
) -> WaitGroup:
    pool, class_name, source = key
    sharing: dict[Hashable, int] = {}
    for _, _, read in members:
        sharing[read.trigger] = sharing.get(read.trigger, 0) + 1
    waits = sorted(
        (_wait(instance, trigger, sharing[read.trigger] - 1, now) for instance, trigger, read in members), key=_age
    )
    return WaitGroup(
        pool=pool,
        class_name=class_name,
        source=source,
        waits=tuple(waits),
        triggers=len(sharing),
        queries=len({read.query for _, _, read in members}),
        stuck=sum(wait.reason in _STUCK for wait in waits),
        oldest=waits[0].since,
        next_at=min((wait.next_at for wait in waits if wait.next_at is not None and wait.next_at > now), default=None),
    )


def _wait(instance: InstanceView, trigger: TriggerView, shares: int, now: float) -> WaitView:
    progress = WaitProgress.parse(instance.message, trigger.waits_for)
    return WaitView(
        namespace=instance.namespace,
        workflow=instance.workflow,
        ref=instance.ref,
        taskrun=instance.name,
        waits_for=trigger.waits_for or trigger.class_name,
        reason=instance.reason,
        look=progress.look,
        tries=progress.tries,
        since=instance.deferred_at,
        last_at=progress.last_at,
        next_at=_next(trigger, progress, now),
        deadline=instance.deadline,
        shares=shares,
    )


def end_of(instance: InstanceView, trigger: TriggerView, now: float) -> float | None:
    """Return when a wait ends, if this is known: when a timer fires, or else when its deadline is over."""
    ends = _tick(trigger, now) if trigger.class_name == "cron" else trigger.moment
    return instance.deadline if ends is None else ends


def _next(trigger: TriggerView, progress: WaitProgress, now: float) -> float | None:
    """When the trigger fires, if this is known, or looks next. The triggerer reports no looks of a timer."""
    if trigger.class_name != "cron":
        return progress.next_after(now) if trigger.moment is None else trigger.moment
    return _tick(trigger, now)


def _tick(trigger: TriggerView, now: float) -> float | None:
    """The next tick of a cron trigger."""
    kwargs, text = json_fields.fields(json_fields.decoded(trigger.kwargs)), json_fields.text
    given = kwargs.get("delay")
    delay = float(given) if isinstance(given, int | float) else json_fields.duration(given) or 0.0
    try:
        tick = Ticks.parse(text(kwargs.get("expression")), text(kwargs.get("timezone")) or None).next(now - delay)
    except (ValueError, OverflowError):
        return None
    return None if tick is None else tick + delay


def _age(wait: WaitView) -> tuple[float, str, str]:
    return wait.since if wait.since is not None else float("inf"), wait.namespace, wait.taskrun

"""What else the cluster says about a run: pods, Events, pools of slots, other TaskRuns of the namespace. Pure.

All of it is optional: without it a cause is less precise, never wrong. A user with the ClusterRole `view` may read it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from torpor_wire import constants

from torpor_views import json_fields
from torpor_views.instance import InstanceView
from torpor_views.json_fields import Fields, moment, read_from, text

T = TypeVar("T")
_DIGITS = 9


def _controller(owners: object) -> str:
    """Return the uid of the owner that controls a pod."""
    return next(
        (text(owner.get("uid")) for owner in json_fields.objects(owners) if owner.get("controller") is True), ""
    )


def _is_gated(gates: object) -> bool:
    return any(gate.get("name") == constants.POD_GATE for gate in json_fields.objects(gates))


def _phase(value: object) -> str:
    return text(value) or "Pending"


def _unschedulable(conditions: object) -> str:
    """Return the message of the scheduler; empty for a pod that has a node or may get one."""
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    for condition in json_fields.objects(conditions):
        if unschedulable.items() <= condition.items():
            return text(condition.get("message")) or "the scheduler gives no cause"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """A pod of a TaskRun. `taskrun`: the uid of its owner. `unschedulable`: the message of the scheduler."""

    name: str = read_from("metadata.name", text)
    taskrun: str = read_from("metadata.ownerReferences", _controller)
    created: float | None = read_from("metadata.creationTimestamp", moment)
    deleting: float | None = read_from("metadata.deletionTimestamp", moment)
    node: str = read_from("spec.nodeName", text)
    gated: bool = read_from("spec.schedulingGates", _is_gated)
    phase: str = read_from("status.phase", _phase)
    unschedulable: str = read_from("status.conditions", _unschedulable)
    waiting_reason: str = ""
    waiting_message: str = ""

    @classmethod
    def parse(cls, body: Fields) -> Self:
        """Return the facts of a Pod's JSON."""
        containers = json_fields.objects(json_fields.fields(body.get("status")).get("containerStatuses"))
        state = json_fields.fields(containers[0].get("state")) if containers else {}
        waiting = json_fields.fields(state.get("waiting"))
        return cls(
            waiting_reason=text(waiting.get("reason")),
            waiting_message=text(waiting.get("message")),
            **json_fields.read(cls, body),
        )

    @property
    def terminal(self) -> bool:
        """Whether no process of it runs or will run."""
        return self.phase in {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFacts:
    """An Event of either API, on the object of this name."""

    name: str
    reason: str
    message: str
    warning: bool
    at: float | None

    @classmethod
    def parse(cls, body: Fields) -> Self:
        """Return the facts of an Event's JSON: of `v1` or of `events.k8s.io/v1`."""
        regarding = json_fields.fields(body.get("regarding") or body.get("involvedObject"))
        series = json_fields.fields(body.get("series"))
        moments = (
            series.get("lastObservedTime"),
            body.get("deprecatedLastTimestamp") or body.get("lastTimestamp"),
            body.get("eventTime"),
        )
        return cls(
            name=text(regarding.get("name")),
            reason=text(body.get("reason")),
            message=text(body.get("note")) or text(body.get("message")),
            warning=body.get("type") == "Warning",
            at=next((at for value in moments if (at := moment(value)) is not None), None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPool:
    """A pool of slots. `deferred`: deferred TaskRuns hold slots, too."""

    slots: int
    deferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was read beside the run. None: it was not read, which is not the same as nothing there.

    `pods` by uid of their TaskRun, `events` by name of the object, `others`: instances of the namespace with a pool.
    """

    pods: Mapping[str, tuple[PodFacts, ...]] | None = None
    events: Mapping[str, tuple[EventFacts, ...]] = field(default_factory=dict)
    pools: Mapping[str, SlotPool] | None = None
    others: tuple[InstanceView, ...] | None = None

    @classmethod
    def parse(
        cls,
        *,
        pods: Iterable[Fields] | None = None,
        events: Iterable[Fields] = (),
        pools: Fields | None = None,
        taskruns: Iterable[Fields] | None = None,
    ) -> Self:
        """Return the facts of the JSON of objects in the run's namespace. Never raises for their content.

        `pods`: those of the run, or all. `events`: those on its TaskRuns and pods, or all. `pools`: the ConfigMap
        `torpor-pools`; `{}` if there is none. `taskruns`: all of the namespace, to find who holds the slots of a pool.
        None: not read.
        """
        return cls(
            pods=None if pods is None else _by(map(PodFacts.parse, map(json_fields.fields, pods)), _owner),
            events=_by(map(EventFacts.parse, map(json_fields.fields, events)), _name),
            pools=None if pools is None else parse_pools(pools),
            others=None if taskruns is None else _with_pool(taskruns),
        )

    def pods_of(self, instance: InstanceView) -> tuple[PodFacts, ...]:
        """Return the pods of an instance; empty if the pods were not read."""
        return () if self.pods is None else self.pods.get(instance.uid, ())


def parse_pools(config_map: Fields) -> Mapping[str, SlotPool]:
    """Return the pools of the ConfigMap `torpor-pools`; an entry that is not a number of slots is not a pool."""
    data = {name: text(value).strip() for name, value in json_fields.fields(config_map.get("data")).items()}
    return {
        name: SlotPool(slots=int(value), deferred=data.get(f"{name}.deferred", "").lower() == "true")
        for name, value in data.items()
        if value.isdecimal() and len(value) <= _DIGITS and "." not in name
    }


def _with_pool(taskruns: Iterable[Fields]) -> tuple[InstanceView, ...]:
    named = (body for body in map(json_fields.fields, taskruns) if json_fields.fields(body.get("spec")).get("pool"))
    return tuple(map(InstanceView.parse, named))


def _owner(pod: PodFacts) -> str:
    return pod.taskrun


def _name(event: EventFacts) -> str:
    return event.name


def _by(some: Iterable[T], key: Callable[[T], str]) -> Mapping[str, tuple[T, ...]]:
    grouped: dict[str, list[T]] = {}
    for item in some:
        grouped.setdefault(key(item), []).append(item)
    return {name: tuple(those) for name, those in grouped.items()}

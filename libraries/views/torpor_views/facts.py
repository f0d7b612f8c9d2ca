"""What else the cluster says about a run: pods, Events, pools of slots, other TaskRuns of the namespace. Pure.

All of it is optional: without it a cause is less precise, never wrong. A user with the ClusterRole `view` may read it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from torpor_wire import constants

from torpor_views import json_fields
from torpor_views.instance import InstanceView
from torpor_views.json_fields import Fields

T = TypeVar("T")
_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """A pod of a TaskRun. `taskrun`: the uid of its owner. `unschedulable`: the message of the scheduler."""

    name: str
    taskrun: str
    phase: str = ""
    node: str = ""
    created: float | None = None
    deleting: float | None = None
    gated: bool = False
    unschedulable: str = ""
    waiting_reason: str = ""
    waiting_message: str = ""

    @classmethod
    def parse(cls, body: Fields) -> Self:
        """Return the facts of a Pod's JSON."""
        metadata, spec = json_fields.fields(body.get("metadata")), json_fields.fields(body.get("spec"))
        status, text = json_fields.fields(body.get("status")), json_fields.text
        owners = json_fields.objects(metadata.get("ownerReferences"))
        containers = json_fields.objects(status.get("containerStatuses"))
        state = json_fields.fields(containers[0].get("state")) if containers else {}
        waiting = json_fields.fields(state.get("waiting"))
        gates = json_fields.objects(spec.get("schedulingGates"))
        return cls(
            name=text(metadata.get("name")),
            taskrun=next((text(owner.get("uid")) for owner in owners if owner.get("controller") is True), ""),
            phase=text(status.get("phase")) or "Pending",
            node=text(spec.get("nodeName")),
            created=json_fields.moment(metadata.get("creationTimestamp")),
            deleting=json_fields.moment(metadata.get("deletionTimestamp")),
            gated=any(gate.get("name") == constants.POD_GATE for gate in gates),
            unschedulable=_unschedulable(status),
            waiting_reason=text(waiting.get("reason")),
            waiting_message=text(waiting.get("message")),
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
        text = json_fields.text
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
            at=next((at for value in moments if (at := json_fields.moment(value)) is not None), None),
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


def parse_pools(config_map: Fields) -> Mapping[str, SlotPool]:
    """Return the pools of the ConfigMap `torpor-pools`; an entry that is not a number of slots is not a pool."""
    data = {name: json_fields.text(value).strip() for name, value in json_fields.fields(config_map.get("data")).items()}
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


def _unschedulable(status: Fields) -> str:
    for condition in json_fields.objects(status.get("conditions")):
        if (
            condition.get("type") == "PodScheduled"
            and condition.get("status") == "False"
            and condition.get("reason") == "Unschedulable"
        ):
            return json_fields.text(condition.get("message")) or "the scheduler gives no cause"
    return ""

"""The history of a TaskRun and of a Workflow: what happened when (ADR 0027), and the clear in progress."""

from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema
from torpor_wire import constants, transitions
from torpor_wire.enums import WorkflowEvent
from torpor_wire.state import State
from torpor_wire.transitions import HistorySize

from torpor_crds.models.base import ClassName, Count, Identifier, Message, Model, ObjectName, ReasonWord, Time


class TaskRunHistoryEntry(Model):
    """A transition of a TaskRun."""

    state: Annotated[str, Field(description="State that the TaskRun entered.", json_schema_extra={"enum": [*State]})]
    attempt: Annotated[int, Field(ge=1, description="Number of the attempt after the transition.")]
    segment: Annotated[int, Field(ge=0, description="Number of the segment after the transition.")]
    launch: Annotated[
        Count | None, Field(description="Number of pods of the segment that were lost to disruptions. Unset: 0.")
    ] = None
    at: Annotated[Time, Field(description="Time of the transition, by the clock of its writer.")]
    reason: Annotated[ReasonWord | None, Field(description="Reason of the new state: a CamelCase word.")] = None
    pod: Annotated[ObjectName | None, Field(description="For Running: the pod that claimed the segment.")] = None
    trigger: Annotated[ClassName | None, Field(description="For Deferred: the class of the trigger.")] = None
    count: Annotated[
        Count | None,
        Field(
            description="For the first entry: number of transitions that it replaces, when older ones were folded "
            "into it. Its other fields describe the first of them. Unset: 1."
        ),
    ] = None


@lru_cache(maxsize=256)
def _the_one(size: HistorySize) -> HistorySize:
    """One object for equal sizes, since most TaskRuns have the same."""
    return size


def _size(value: Any) -> HistorySize:
    return value if isinstance(value, HistorySize) else _the_one(transitions.history_size(value))


def _schema() -> dict[str, Any]:
    return {
        "type": "array",
        "maxItems": constants.HISTORY_MAX,
        "x-default": [],
        "items": TaskRunHistoryEntry.model_json_schema(),
    }


TaskRunHistory = Annotated[
    HistorySize,
    PlainValidator(_size),
    PlainSerializer(lambda _: None),
    WithJsonSchema(_schema()),
]
"""`status.history` of a TaskRun. The controllers keep only its size: there may be 100,000 TaskRuns."""


class WorkflowHistoryEntry(Model):
    """Something that happened to a run."""

    type: Annotated[
        WorkflowEvent,
        Field(description="Started, Suspended, Resumed, Cleared, Marked, Stopped, Cancelled, Finishing or Ended."),
    ]
    at: Annotated[Time, Field(description="Time at which the operator saw it.")]
    by: Annotated[
        str | None, Field(max_length=253, description="User who requested it, where the annotation names one.")
    ] = None
    state: Annotated[str | None, Field(max_length=20, description="For Ended: the state of the run.")] = None
    message: Annotated[Message | None, Field(description="Details, such as the cleared tasks.")] = None
    count: Annotated[
        Count | None,
        Field(description="For the first entry: number of entries that it replaces. Unset: 1."),
    ] = None


Ranges = Annotated[str, Field(max_length=constants.RANGES_MAX, pattern=r"^[0-9.,-]*$")]


class ClearedTask(Model):
    """A task whose TaskRuns are created again."""

    name: Annotated[Identifier, Field(description="Name of the task.")]
    indexes: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...] | None,
        Field(
            max_length=constants.MAP_MAX,
            description="Indexes of the instances. Unset: all, and the list is evaluated again.",
        ),
    ] = None
    within: Annotated[
        Ranges | None,
        Field(description="For a task in a group: all instances at these group indexes, such as 0-3,5.0."),
    ] = None


class Clearing(Model):
    """Instances that run again, until their TaskRuns have been created."""

    asked: Annotated[
        str,
        Field(
            max_length=constants.CLEAR_MAX,
            description="Value of torpor.dev/clear, or of torpor.dev/mark with its result.",
        ),
    ]
    tasks: Annotated[
        tuple[ClearedTask, ...],
        Field(max_length=500, description="Tasks that are cleared.", json_schema_extra={"x-key": "name"}),
    ] = ()

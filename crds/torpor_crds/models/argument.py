"""An argument of a task's function: a value, or where the worker reads it; and what a task is mapped over (AIP-42)."""

from typing import Annotated, Literal

from pydantic import Field
from torpor_wire import constants

from torpor_crds.models.base import FUNCTION, Count, Identifier, Model, Value

JsonText = Annotated[str, Field(max_length=constants.RESULT_MAX)]
GroupIndexes = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=constants.MAP_MAX)], ...], Field(max_length=constants.GROUP_DEPTH)
]


class ArgumentSource(Model):
    """A value that the worker reads from the TaskRuns of another task."""

    task: Annotated[Identifier, Field(description="Task that has the result.")]
    field: Annotated[
        Literal["result", "results"],
        Field(description="`result` of one TaskRun, or `results` of a mapped task in index order."),
    ]
    group_indexes: Annotated[
        GroupIndexes | None,
        Field(description="Index in each mapped group, outermost first."),
    ] = None
    index: Annotated[
        int | None,
        Field(
            ge=-1,
            description="For `result`: index of the instance, unset or -1 if the task is not mapped. For `results`: "
            "index of the first instance. Unset: 0.",
        ),
    ] = None
    count: Annotated[
        Count, Field(description="Number of instances in `results`, including skipped and failed ones.")
    ] = 1
    paths: Annotated[
        str | None,
        Field(
            max_length=constants.RANGES_MAX,
            description="Instances of `results` at several group indexes below `groupIndexes`, such as 0-3 or 0-3.0-9. "
            "It replaces `index` and `count`.",
        ),
    ] = None
    mapped: Annotated[
        bool | None,
        Field(description="Whether the last number of `paths` is the index of the task instead of its group."),
    ] = None
    missing: Annotated[
        str | None,
        Field(
            max_length=constants.MISSING_MAX,
            description="Instances without a result, as ranges of indexes (`2,7-9`) or of `paths`. Empty: none. Unset: "
            "unknown, and the worker determines them.",
        ),
    ] = None
    item: Annotated[
        Count | None,
        Field(description="One item only, from 0: an item of a list, or `[key, value]` of an object in its order."),
    ] = None


class Argument(Model):
    """A keyword argument of the function."""

    name: Annotated[Identifier, Field(description="Name of the parameter.")]
    value: Annotated[JsonText | None, Field(description="The value, as JSON text.")] = None
    source: Annotated[ArgumentSource | None, Field(alias="from", description="Where the worker reads the value.")] = (
        None
    )
    map: Annotated[
        str | None,
        Field(
            max_length=253,
            description="`package.module:function` of the image. It gets the value and returns the argument.",
        ),
    ] = None


Mapper = Annotated[str, Field(max_length=253, pattern=FUNCTION)]


class Expansion(Model):
    """A name and the list or object that it is mapped over (AIP-42's expand)."""

    name: Annotated[
        Identifier,
        Field(
            description="Argument that receives one item in each instance. In a group with several entries, the name of"
            " the item in `groups.<group>.key` and `.value`."
        ),
    ]
    over: Annotated[
        Value,
        Field(
            description="A list, an object, or an expression such as `${tasks.list.result}` that returns one. An entry "
            "of an object is an item `[key, value]`."
        ),
    ]
    map: Annotated[
        Mapper | None,
        Field(
            description="`package.module:function` of the image of the task. It gets the item and returns the argument."
            " It runs in the pod of the instance. Not allowed in a group."
        ),
    ] = None


class MappedGroup(Model):
    """Tasks that are mapped together (AIP-42). They run once for each item, and no index waits for another."""

    name: Annotated[
        Identifier,
        Field(
            description="Name of the group: lower-case letters, digits and underscores, no hyphens, because "
            "expressions use it (`groups.cities.value`). No task may have the same name."
        ),
    ]
    in_: Annotated[
        Identifier | None,
        Field(
            alias="in",
            description="The group that contains this group. Each index of the outer group has its own items.",
        ),
    ] = None
    expand: Annotated[
        tuple[Expansion, ...],
        Field(
            min_length=1,
            max_length=8,
            description="All tasks of the group run for each item of a list or object. Several entries make a product, "
            "and the last entry changes fastest. Expressions of these tasks see `groups.<name>.index`, "
            "`.key` and `.value`.",
            json_schema_extra={"x-key": "name"},
        ),
    ]

    @property
    def expand_kwargs(self) -> None:
        """A group has no arguments: what its tasks take of an item, they say."""

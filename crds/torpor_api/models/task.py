"""A task of a Workflow as its author writes it: its body, what it is mapped over, and what it waits for."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from torpor_api.models.base import CLASS, Duration, Expression, Identifier, Model, Name, Retries
from torpor_api.models.pod_fields import PodFields
from torpor_api.models.taskrun import Command

Value = Annotated[Any, Field(json_schema_extra={"x-any": True})]


class Rule(StrEnum):
    """Which outcomes of the tasks before it let a task run (Airflow's trigger rules)."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALWAYS = "always"


class Hook(StrEnum):
    """Which ends of a run a hook follows."""

    SUCCESS = "success"
    FAILURE = "failure"
    END = "end"


class TriggerTask(Model):
    """A wait as a task: it goes straight to the triggerer and never has a pod."""

    class_name: Annotated[
        str,
        Field(
            alias="class",
            max_length=253,
            description="time (at), duration (duration), http (url, ...), kubernetes (api_version, kind, ...), or "
            "a class registered with the triggerer; docs/reference/triggers.md lists the arguments.",
            json_schema_extra=CLASS,
        ),
    ]
    kwargs: Annotated[
        dict[str, Value],
        Field(max_length=64, description="Arguments of the trigger; strings may hold `${...}` expressions."),
    ] = Field(default_factory=dict)
    timeout: Annotated[Duration | None, Field(description="How long the wait may last: 30s, 6h, 7d.")] = None


Mapper = Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$")]


class Expansion(Model):
    """One name over one list or object: an instance of the task for each item (AIP-42's expand)."""

    name: Annotated[
        Identifier,
        Field(
            description="Argument that takes one item in each instance; in a group of several entries, what the item "
            "is called in `groups.<group>.key` and `.value`."
        ),
    ]
    over: Annotated[
        Value,
        Field(
            description="A list, an object, or one `${...}` expression that yields one, such as "
            "`${tasks.list.result}`. Each entry of an object is an item `[key, value]`."
        ),
    ]
    map: Annotated[
        Mapper | None,
        Field(
            description="`package.module:function` of the task's image that is given the item and returns the "
            "argument; it runs in the instance's own pod. A group has none."
        ),
    ] = None


class Group(Model):
    """Tasks that are mapped as a whole (AIP-42): for each item all of them run, and no index waits for another."""

    name: Annotated[Identifier, Field(description="Lower-case identifier; no task has it.")]
    in_: Annotated[
        Identifier | None,
        Field(alias="in", description="The group that this one stands in; each of its indexes has its own items."),
    ] = None
    expand: Annotated[
        tuple[Expansion, ...],
        Field(
            min_length=1,
            max_length=8,
            description="All tasks of the group run for each item of a list or object known at run time; of several "
            "entries, for each combination, the last entry changing fastest. Their expressions see "
            "`groups.<name>.index`, `.key` and `.value`.",
            json_schema_extra={"x-key": "name"},
        ),
    ]

    @property
    def expand_kwargs(self) -> None:
        """A group has no arguments: what its tasks take of an item, they say."""


class Task(Model):
    """A task: a Python function in a pod, a container, or a trigger without a pod."""

    name: Annotated[Identifier, Field(description="Lower-case identifier, unique in the Workflow.")]
    after: Annotated[
        tuple[Identifier, ...],
        Field(
            max_length=100,
            description="Tasks, or groups of them, that come first. A reference to `tasks.x` in an expression adds x.",
        ),
    ] = ()
    group: Annotated[
        Identifier | None,
        Field(
            description="The mapped group of spec.groups that it stands in. It runs once for each item of the group; "
            "of other tasks there it sees what has the same index, of tasks elsewhere all."
        ),
    ] = None
    python: Annotated[
        str | None,
        Field(
            max_length=253,
            pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$",
            description="The function, or operator class, to run in a pod: `package.module:name`.",
        ),
    ] = None
    container: Annotated[
        Command | None,
        Field(
            description="Any program of the task's `image` instead of a function. `command` and `args` may hold "
            "`${...}` expressions; `$${` is a literal `${`. The task's own `args` arrive as environment "
            "variables (strings as they are, others as JSON); the result is what it writes to /dev/termination-log, "
            "less than 4,096 bytes: JSON where it begins with {, [ or a quote, or is a number, true, false or null; "
            "else a string."
        ),
    ] = None
    trigger: Annotated[
        TriggerTask | None,
        Field(
            description="A wait; it needs no pod. Beside `python` it comes first, and the function is called with "
            "`event` when it has fired."
        ),
    ] = None
    result: Annotated[
        Expression | None,
        Field(description="CEL over `event` and `params`: the result of a task that is only a wait, else the event."),
    ] = None
    fail_when: Annotated[
        Expression | None,
        Field(description="CEL over `event` and `params`: where true, a task that is only a wait fails by its event."),
    ] = None
    trigger_pool: Annotated[
        Name | None, Field(description="Which triggerers serve this task's waits, instead of spec.triggerPool.")
    ] = None
    hook: Annotated[
        Hook | None,
        Field(
            description="Runs when every other task has ended: success, failure (also by a timeout), or end, which is "
            "either. Expressions see `run.state`, `run.reason`, `run.message`, `run.name`. It changes nothing of how "
            "the run ended."
        ),
    ] = None
    image: Annotated[str | None, Field(max_length=512, description="Image of this task, instead of spec.image.")] = None
    args: Annotated[
        dict[str, Value],
        Field(
            max_length=64,
            description="Keyword arguments. Strings may hold `${...}`: CEL over `params`, `tasks.x.result`, "
            "`tasks.x.results` of one that is mapped, or in further groups; a string that is one expression keeps its "
            "type, `$${` is a literal `${`.",
        ),
    ] = Field(default_factory=dict)
    expand: Annotated[
        tuple[Expansion, ...],
        Field(
            max_length=8,
            description="Run once for each item of a list or object known at run time; of several entries, for each "
            "combination, the last entry changing fastest. An instance sees `mapping.index`, `mapping.key` and "
            "`mapping.value` in its expressions.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    expand_kwargs: Annotated[
        Value,
        Field(
            description="A list of objects, or an expression that yields one: each object is an instance's keyword "
            "arguments, beside `args`."
        ),
    ] = None
    pool: Annotated[
        Identifier | None,
        Field(
            description="Takes a slot of this pool while it holds a pod: the ConfigMap torpor-pools of the namespace "
            "says how many there are, for all its Workflows together."
        ),
    ] = None
    max_active: Annotated[
        int | None,
        Field(
            ge=1,
            le=10_000,
            description="How many instances of a task that is mapped, or stands in a group, hold a pod at a time.",
        ),
    ] = None
    display_name: Annotated[
        Expression | None,
        Field(description="What an instance is called, such as `load ${mapping.value.city}`; for people only."),
    ] = None
    branch: Annotated[
        bool,
        Field(
            description="The result, a task's name or a list of names, says which of the tasks after this one run; "
            "the others are skipped."
        ),
    ] = False
    when: Annotated[
        Expression | None,
        Field(
            description="CEL, such as `size(tasks.list.result) > 0`; the task is skipped where it is false. With "
            "`mapping`, such as `mapping.value.size > 0`, it is asked for each instance."
        ),
    ] = None
    rule: Annotated[
        Rule,
        Field(
            description="Which ends of the tasks before it let it run: all_success, all_failed, all_done, all_skipped, "
            "one_success, one_failed, one_done (these three do not wait for the rest), none_failed, "
            "none_failed_min_one_success, none_skipped, all_done_min_one_success, always (does not wait at all)."
        ),
    ] = Rule.ALL_SUCCESS
    retries: Annotated[Retries, Field(description="How a failed attempt is tried again.")] = Retries()
    timeout: Annotated[
        Duration | None,
        Field(
            description="Total time an attempt may take over all its segments, from its first claim; "
            "and how long its pod may take to start."
        ),
    ] = None
    timeout_while_deferred: Annotated[
        bool, Field(description="Whether the time spent deferred counts in `timeout`, as in Airflow.")
    ] = True
    pod: Annotated[PodFields | None, Field(description="The fields of the task's pod that are yours to set.")] = None

    @property
    def mapped(self) -> bool:
        """Whether its number of instances is found out at run time."""
        return bool(self.expand) or self.expand_kwargs is not None

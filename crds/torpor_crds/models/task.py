"""A task of a Workflow as its author writes it: its body, what it is mapped over, and what it waits for."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from torpor_wire import constants
from torpor_wire.enums import Hook, Runtime, TriggerRule

from torpor_crds.models.argument import Expansion
from torpor_crds.models.base import (
    CLASS,
    FUNCTION,
    IDENTIFIER,
    Duration,
    Expression,
    Identifier,
    Model,
    Name,
    QueueName,
    TaskRetries,
    Value,
)
from torpor_crds.models.bodies import http_task
from torpor_crds.models.bodies.http_task import HttpTask
from torpor_crds.models.bodies.object_task import ObjectTask
from torpor_crds.models.files import TaskFiles
from torpor_crds.models.metrics import MetricList
from torpor_crds.models.pod_fields import PodFields
from torpor_crds.models.program import CodeSource, Command
from torpor_crds.models.run_of import BodyRef, RunCall, parse_body_ref


class TriggerTask(Model):
    """A wait as a task, or before the first pod. The triggerer runs it."""

    class_name: Annotated[
        str,
        Field(
            alias="class",
            max_length=253,
            description="Registered class of the trigger, such as time, duration, http, or kubernetes. "
            "docs/reference/triggers.md lists the classes and their arguments.",
            json_schema_extra=CLASS,
        ),
    ]
    kwargs: Annotated[
        dict[str, Value],
        Field(max_length=64, description="Arguments of the trigger. Strings may contain `${...}` expressions."),
    ] = Field(default_factory=dict)
    timeout: Annotated[Duration | None, Field(description="Maximum duration of the wait, such as 30s, 6h, or 7d.")] = (
        None
    )


class Task(Model):
    """A task: a Python function in a pod, a container, or without a pod a trigger, a run, an object, a request."""

    name: Annotated[
        Identifier,
        Field(
            description="Name of the task: lower-case letters, digits and underscores, no hyphens, because "
            "expressions use it (`tasks.load_all.result`). Unique in the Workflow."
        ),
    ]
    after: Annotated[
        tuple[Identifier, ...],
        Field(
            max_length=100,
            description="Upstream tasks or groups. A reference to `tasks.x` in an expression adds x.",
        ),
    ] = ()
    group: Annotated[
        Identifier | None,
        Field(
            description="The mapped group that contains the task. The task runs once for each item of the group. It "
            "sees results of the same index of tasks in the group, and all results of tasks outside."
        ),
    ] = None
    use: Annotated[
        BodyRef | None,
        BeforeValidator(parse_body_ref),
        Field(
            description="The body whose fields the task has, unless it sets them itself: the name of one in "
            "`spec.bodies`, or an object that names one of a template. Objects are merged field by field, as those of "
            "`spec.defaults`. When the run starts, the operator adds the fields to the task.",
            json_schema_extra={"x-text-form": {"pattern": IDENTIFIER, "maxLength": 40}},
        ),
    ] = None
    python: Annotated[
        str | None,
        Field(
            max_length=253,
            pattern=FUNCTION,
            description="Function or operator class to run in a pod: `package.module:name`.",
        ),
    ] = None
    container: Annotated[
        Command | None,
        Field(
            description="A program of `image` instead of a function. `command` and `args` may contain `${...}` "
            "expressions; `$${` is a literal `${`. The `args` of the task become environment variables: "
            "strings as they are, other values as JSON. The result is the termination message in "
            "/dev/termination-log, less than 4,096 bytes. It is JSON if it begins with {, [ or a quote, or "
            "is a number, true, false or null. Otherwise it is a string. With `outcome: true` the program can also "
            "write an outcome document, by which it defers, fails or skips its task."
        ),
    ] = None
    trigger: Annotated[
        TriggerTask | None,
        Field(
            description="A wait without a pod. With `python` the wait comes first, and the function receives `event`."
        ),
    ] = None
    run: Annotated[
        RunCall | None,
        Field(
            description="A run of a WorkflowTemplate, instead of a program. The task has no pod, and holds a slot of "
            "the run until the other run has ended."
        ),
    ] = None
    http: Annotated[
        HttpTask | None,
        Field(description="An HTTP request, instead of a program. The task has no pod: the triggerer sends it."),
    ] = None
    object_: Annotated[
        ObjectTask | None,
        Field(
            alias="object",
            description="An object of the cluster, such as a Job or a SparkApplication, instead of a program. The task "
            "has no pod, and acts with the rights of a ServiceAccount of the namespace.",
        ),
    ] = None
    result: Annotated[
        Expression | None,
        Field(
            description="CEL over `event` and `params`: the result of a trigger task. Unset: the event. For a task "
            "with `run`: `event` is that of the trigger workflow. Unset: `event.result`. For a task with `http`: "
            "`event` has `status`, `headers`, and `json` or `text`. Unset: the body."
        ),
    ] = None
    fail_when: Annotated[
        Expression | None,
        Field(description="CEL over `event` and `params`: if true, a trigger task, or one with `http`, fails."),
    ] = None
    trigger_pool: Annotated[
        Name | None, Field(description="Triggerer pool of this task, instead of spec.triggerPool.")
    ] = None
    hook: Annotated[
        Hook | None,
        Field(
            description="Makes the task a hook, which runs after all other tasks have ended: on success, on failure "
            "(also by a timeout), or at any end. Expressions see `run.state`, `run.reason`, `run.message` "
            "and `run.name`. A hook does not change the outcome of the run."
        ),
    ] = None
    image: Annotated[str | None, Field(max_length=512, description="Image of this task, instead of spec.image.")] = None
    runtime: Annotated[
        Runtime | None, Field(description="Runtime of this python task, instead of spec.runtime: Inject or Image.")
    ] = None
    source: Annotated[
        CodeSource | None, Field(description="Files of this python task, instead of those of spec.source.")
    ] = None
    args: Annotated[
        dict[str, Value],
        Field(
            max_length=64,
            description="Keyword arguments. Strings may contain `${...}`: CEL over `params`, `tasks.x.result`, and "
            "`tasks.x.results` of a mapped task. A string that is one expression keeps its type. `$${` is a"
            " literal `${`.",
        ),
    ] = Field(default_factory=dict)
    expand: Annotated[
        tuple[Expansion, ...],
        Field(
            max_length=8,
            description="Maps the task: one instance for each item of a list or object. Several entries make a product,"
            " and the last entry changes fastest. Expressions of an instance see `mapping.index`, "
            "`mapping.key` and `mapping.value`.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    expand_kwargs: Annotated[
        Value,
        Field(
            description="A list of objects, or an expression that returns one. Each object is the keyword arguments of "
            "an instance, in addition to `args`."
        ),
    ] = None
    pool: Annotated[
        Identifier | None,
        Field(
            description="Pool of slots. The task takes one slot while it holds a pod. The ConfigMap torpor-pools of the"
            " namespace sets the number of slots for all Workflows."
        ),
    ] = None
    queue: Annotated[
        QueueName | None,
        Field(
            description="LocalQueue of Kueue for the pods of the task. Its quota is free while the task is deferred. "
            "A `pool` limits it, too: a pod is created when the pool has a slot, and starts when the queue has quota."
        ),
    ] = None
    max_active: Annotated[
        int | None,
        Field(
            ge=1,
            le=10_000,
            description="Maximum number of instances that hold a pod at the same time, for a task that is mapped or in "
            "a group.",
        ),
    ] = None
    display_name: Annotated[
        Expression | None,
        Field(description="Display name of an instance, such as `load ${mapping.value.city}`."),
    ] = None
    branch: Annotated[
        bool,
        Field(
            description="Makes the task a branch. Its result is the name of a downstream task, or a list of names. The "
            "other downstream tasks are skipped."
        ),
    ] = False
    when: Annotated[
        Expression | None,
        Field(
            description="CEL, such as `size(tasks.list.result) > 0`. If it is false, the task is skipped. With "
            "`mapping`, such as `mapping.value.size > 0`, it is evaluated for each instance."
        ),
    ] = None
    rule: Annotated[
        TriggerRule,
        Field(
            description="Trigger rule: which outcomes of the upstream tasks let the task run. one_success, one_failed "
            "and one_done do not wait for all upstream tasks. always does not wait at all."
        ),
    ] = TriggerRule.ALL_SUCCESS
    retries: Annotated[TaskRetries, Field(description="How a failed attempt is retried.")] = TaskRetries()
    may_fail: Annotated[
        bool | None,
        Field(
            description="Whether the task may fail: its failure is shown and counts for `rule` of downstream tasks, "
            "and does not fail the run. Tasks that do not run because of it do not fail the run either. Unset: false."
        ),
    ] = None
    timeout: Annotated[
        Duration | None,
        Field(
            description="Maximum duration of an attempt over all its segments, from its first claim. Before that, the "
            "maximum time that its pod may take to start."
        ),
    ] = None
    timeout_while_deferred: Annotated[
        bool, Field(description="Whether deferred time counts toward `timeout`, as in Airflow.")
    ] = True
    files: Annotated[
        TaskFiles | None, Field(description="Files that the task reads and writes, which go through the archive.")
    ] = None
    metrics: MetricList = ()
    pod: Annotated[PodFields | None, Field(description="Fields of the pod of the task.")] = None

    @property
    def wait(self) -> TriggerTask | None:
        """What the task waits for without a pod: its trigger, its run, its object, or a response."""
        if self.http is not None:
            whole = {"as_result": True} if self.result is None and self.fail_when is None else {}
            return TriggerTask(class_name=http_task.CLASS_NAME, kwargs=self.http.kwargs() | whole)
        if self.object_ is not None:
            return TriggerTask(class_name=constants.OBJECT_TASK, timeout=self.object_.timeout)
        if self.run is None:
            return self.trigger
        kwargs: dict[str, Any] = {"state": "succeeded"} | ({"whole": True} if self.result is None else {})
        return TriggerTask(class_name="workflow", kwargs=kwargs, timeout=self.run.timeout)

    @property
    def is_only_awaited(self) -> bool:
        """Whether its instances need no slot while they are deferred: it begins with a wait that causes nothing."""
        return self.trigger is not None and self.trigger.class_name != http_task.CLASS_NAME

    @property
    def has_pod(self) -> bool:
        """Whether its instances run in pods."""
        return self.python is not None or self.container is not None

    @property
    def mapped(self) -> bool:
        """Whether its number of instances is found out at run time."""
        return bool(self.expand) or self.expand_kwargs is not None

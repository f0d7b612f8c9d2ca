"""The instances of a task that starts: how many there are, and what each TaskRun is created from.

Values of expressions may be missing; then the result names the needs, and the plan is computed again with the answers.
Values that differ between instances are computed only for those that are about to be created: there may be ten
thousand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeAlias

from torpor_crds.models.argument import Argument
from torpor_crds.models.bodies.object_task import ObjectCall
from torpor_crds.models.files import RunFiles
from torpor_crds.models.program import Command
from torpor_crds.models.run_of import ChildRun
from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TriggerCall
from torpor_expressions.errors import ExpressionError
from torpor_wire import json_types
from torpor_wire.reason import Reason
from torpor_wire.state import TaskState

from torpor_operator.expressions import pod_texts, resolve
from torpor_operator.expressions.context import MAPPING, Pending, Scope
from torpor_operator.expressions.pod_texts import PodText
from torpor_operator.mapping import (
    arguments,
    child_run_params,
    container_command,
    expand,
    file_inputs,
    object_calls,
    size_limits,
    trigger_kwargs,
)
from torpor_operator.mapping.container_command import ContainerCommand
from torpor_operator.mapping.expand import Allowed, ExpandedList, Product
from torpor_operator.model.map_items import MapItem
from torpor_operator.state.task_state import TaskOutcome, failed_by_invalid_json, failed_without_runs, without_runs

Wait: TypeAlias = tuple[TriggerCall | None, ObjectCall | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceInputs:
    """What one TaskRun is created from."""

    arguments: tuple[Argument, ...]
    trigger: TriggerCall | None
    display_name: str | None
    program: ContainerCommand
    run: ChildRun | None = None
    object_: ObjectCall | None = None
    files: RunFiles | None = None


@dataclass(frozen=True, slots=True)
class SkippedInstance:
    """An instance that its `when` skips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstances:
    """The width of a task, and its instances by position."""

    task: Task
    product: Product
    scope: Scope
    constants: tuple[Argument, ...]
    width: int = 1  # instances over all indexes of its groups
    texts: Callable[[], tuple[PodText, ...]] = tuple  # of its pod, which all instances share
    marked: bool = False  # its only instance ends in a state that a user chose, so it needs no values

    @property
    def total(self) -> int:
        """How many there are."""
        return self.product.total

    def at(self, position: int) -> InstanceInputs | SkippedInstance | TaskOutcome | Pending:
        """One instance; or the outcome of the task, which fails if one of its instances cannot be created."""
        if self.marked:
            return _without_values(self.task)
        try:
            return self._at(position)
        except (ValueError, RecursionError) as error:
            return failed_by_invalid_json(self.task.name, error)

    def _at(self, position: int) -> InstanceInputs | SkippedInstance | TaskOutcome | Pending:
        scope = self.scope.with_root(MAPPING, self.product.mapping(position))
        if _when_differs(self.task):
            unmet = _when(self.task, scope)
            if unmet is not None:
                return (
                    SkippedInstance() if isinstance(unmet, TaskOutcome) and unmet.state is TaskState.SKIPPED else unmet
                )
        items = self.product.items(position)
        own_arguments = arguments.instance_arguments(self.task, items, scope)
        if isinstance(own_arguments, TaskOutcome | Pending):
            return own_arguments
        all_arguments = (*self.constants, *own_arguments)
        files = file_inputs.resolve_files(self.task, scope)
        if isinstance(files, TaskOutcome | Pending):
            return files
        wait = self._wait(items, scope)
        if isinstance(wait, TaskOutcome | Pending):
            return wait
        trigger, object_ = wait
        run = child_run_params.resolve_child_run(self.task, items, scope)
        if isinstance(run, TaskOutcome | Pending):
            return run
        display_name = arguments.display_name(self.task, scope)
        if isinstance(display_name, TaskOutcome | Pending):
            return display_name
        program = container_command.resolve_program(self.task, scope, self.texts())
        if isinstance(program, TaskOutcome | Pending):
            return program
        sized = size_limits.InstanceParts(files=files, program=program, object_=object_)
        if (problem := size_limits.problem(self.task, all_arguments, self.width, sized)) is not None:
            return failed_without_runs(self.task.name, Reason.ARGUMENTS_TOO_LARGE, problem)
        return InstanceInputs(
            arguments=all_arguments,
            trigger=trigger,
            display_name=display_name,
            program=program,
            run=run,
            object_=object_,
            files=files,
        )

    def _wait(self, items: Sequence[tuple[ExpandedList, MapItem]], scope: Scope) -> Wait | TaskOutcome | Pending:
        """What the instance waits for without a pod."""
        object_ = object_calls.resolve_object(self.task, scope)
        if isinstance(object_, TaskOutcome | Pending):
            return object_
        if object_ is not None:
            return object_calls.trigger_of(self.task, object_), object_
        trigger = trigger_kwargs.resolve_trigger(self.task, items, scope)
        return trigger if isinstance(trigger, TaskOutcome | Pending) else (trigger, None)


def marked(task: Task, scope: Scope) -> TaskInstances:
    """The only instance of a task that a user marked before it could start."""
    return TaskInstances(task=task, product=Product(), scope=scope, constants=(), marked=True)


def _without_values(task: Task) -> InstanceInputs:
    """An instance that runs nothing: its body has the kind of the task, and no evaluated values."""
    call = TriggerCall(class_name=task.wait.class_name) if task.wait and not task.python else None
    program = ContainerCommand(container=Command() if task.container is not None else None, env=())
    return InstanceInputs(arguments=(), trigger=call, display_name=None, program=program)


ResolvedInstances: TypeAlias = TaskInstances | TaskOutcome | Pending


def resolve_instances(task: Task, scope: Scope, allowed: Allowed) -> ResolvedInstances:
    """The instances of the task; its outcome where it has none (skipped, failed); or what must be known first.

    Raises ValueError or RecursionError where a stored result is not JSON.
    """
    unmapped = scope.with_root(MAPPING, Product().mapping(0))
    if not _when_differs(task) and (unmet := _when(task, unmapped)) is not None:
        return unmet
    product = expand.resolve_product(task, scope, allowed)
    if isinstance(product, TaskOutcome | Pending):
        return product
    constants = arguments.constant_arguments(task, scope)
    if isinstance(constants, TaskOutcome | Pending):
        return constants
    width = product.total * allowed.indexes
    if (problem := size_limits.problem(task, constants, width)) is not None:
        return failed_without_runs(task.name, Reason.ARGUMENTS_TOO_LARGE, problem)
    texts = cache(partial(pod_texts.texts, task.pod))  # read once, and only if an instance is created
    return TaskInstances(task=task, product=product, scope=scope, constants=constants, width=width, texts=texts)


def _when_differs(task: Task) -> bool:
    """Whether `when` is evaluated for each instance."""
    return task.mapped and task.when is not None and resolve.uses_mapping(resolve.unwrap(task.when))


def _when(task: Task, scope: Scope) -> TaskOutcome | Pending | None:
    """Why `when` keeps the task or the instance from running; None if it runs."""
    if task.when is None:
        return None
    answer = scope.evaluate(resolve.unwrap(task.when))
    if isinstance(answer, Pending):
        return answer
    if isinstance(answer, ExpressionError):
        return failed_without_runs(task.name, answer.reason, f"when: {answer.message}")
    if answer.json is True:
        return None
    if answer.json is False:
        return without_runs(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"when: {task.when} is false")
    message = f"when: yields {json_types.described(answer.json)}; it must yield true or false"
    return failed_without_runs(task.name, Reason.EXPRESSION_FAILED, message)

"""The instances of a task whose turn has come: how many there are, and what each is given.

The answers it needs (expression values) may be missing; then it says which, and the plan is made again with them. What
differs from instance to instance is worked out for those that are about to be created, since there may be ten thousand.
"""

from dataclasses import dataclass
from typing import TypeAlias

from torpor_api.models.task import Task
from torpor_api.models.taskrun import Argument, TriggerCall
from torpor_api.models.workflow import TaskState
from torpor_cel.errors import ExpressionError
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve as inputs
from torpor_operator.expressions.context import MAPPING, Pending, Scope
from torpor_operator.mapping import arguments, container_command, expand, size_limits, trigger_kwargs
from torpor_operator.mapping.container_command import Program
from torpor_operator.mapping.expand import Allowed, Product
from torpor_operator.model.map_items import kind
from torpor_operator.state.task_state import Outcome, decided, failed, not_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """What one TaskRun is made from."""

    arguments: tuple[Argument, ...]
    trigger: TriggerCall | None
    display_name: str | None
    program: Program


@dataclass(frozen=True, slots=True)
class SkippedInstance:
    """An instance that its own `when` leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instances:
    """The width of a task, and its instances by their position."""

    task: Task
    product: Product
    scope: Scope
    constants: tuple[Argument, ...]
    width: int = 1  # how many there are in all indexes of the groups around together

    @property
    def total(self) -> int:
        """How many there are."""
        return self.product.total

    def at(self, position: int) -> Instance | SkippedInstance | Outcome | Pending:
        """One instance; or the outcome of the whole task, which fails where one of its instances cannot be made."""
        try:
            return self._at(position)
        except (ValueError, RecursionError) as error:
            return not_json(self.task.name, error)

    def _at(self, position: int) -> Instance | SkippedInstance | Outcome | Pending:
        scope = self.scope.within(MAPPING, self.product.mapping(position))
        if _asked_for_each(self.task):
            asked = _when(self.task, scope)
            if asked is not None:
                return SkippedInstance() if isinstance(asked, Outcome) and asked.state is TaskState.SKIPPED else asked
        given = arguments.of_instance(self.task, self.product.items(position), scope)
        if isinstance(given, Outcome | Pending):
            return given
        every = (*self.constants, *given)
        if (large := size_limits.problem(self.task, every, self.width)) is not None:
            return failed(self.task.name, Reason.ARGUMENTS_TOO_LARGE, large)
        trigger = trigger_kwargs.resolve(self.task, self.product.items(position), scope) if self.task.trigger else None
        if isinstance(trigger, Outcome | Pending):
            return trigger
        named = arguments.display_name(self.task, scope)
        if isinstance(named, Outcome | Pending):
            return named
        program = container_command.resolve(self.task, scope)
        if isinstance(program, Outcome | Pending):
            return program
        return Instance(arguments=every, trigger=trigger, display_name=named, program=program)


Resolved: TypeAlias = Instances | Outcome | Pending


def resolve(task: Task, scope: Scope, allowed: Allowed) -> Resolved:
    """The instances of the task; its outcome where it has none (skipped, failed); or what must be known first.

    Raises ValueError or RecursionError where a stored result is not JSON.
    """
    unmapped = scope.within(MAPPING, Product().mapping(0))
    if not _asked_for_each(task) and (closed := _when(task, unmapped)) is not None:
        return closed
    product = expand.resolve(task, scope, allowed)
    if isinstance(product, Outcome | Pending):
        return product
    constants = arguments.constants(task, scope)
    if isinstance(constants, Outcome | Pending):
        return constants
    width = product.total * allowed.indexes
    if (large := size_limits.problem(task, constants, width)) is not None:
        return failed(task.name, Reason.ARGUMENTS_TOO_LARGE, large)
    return Instances(task=task, product=product, scope=scope, constants=constants, width=width)


def _asked_for_each(task: Task) -> bool:
    return task.mapped and task.when is not None and inputs.uses_mapping(inputs.bare(task.when))


def _when(task: Task, scope: Scope) -> Outcome | Pending | None:
    """Why the task, or this instance of it, does not run; None where it does."""
    if task.when is None:
        return None
    answer = scope.evaluate(inputs.bare(task.when))
    if isinstance(answer, Pending):
        return answer
    if isinstance(answer, ExpressionError):
        return failed(task.name, answer.reason, f"when: {answer.message}")
    if answer.json is True:
        return None
    if answer.json is False:
        return decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"when: {task.when} is false")
    message = f"when: yields {kind(answer.json)}; it must yield true or false"
    return failed(task.name, Reason.EXPRESSION_FAILED, message)

"""`when` and `params` of a Schedule, evaluated over one event: `event`, `at`, `previous` and `source`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from torpor_crds.models.run_of import PreviousRun
from torpor_expressions import errors, references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import json_types

from torpor_operator.expressions import resolve, run_root
from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import Evaluate, Need
from torpor_operator.model.snapshot import Answer
from torpor_operator.scheduled_runs.event import ScheduleEvent

ROOTS = frozenset({"event", "at", "previous", "source"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EventScope:
    """What the expressions see. `version` identifies the event, so that an answer is found again."""

    values: Mapping[str, JSON]
    version: str
    known: Mapping[Need, Answer]

    @classmethod
    def build(
        cls, event: ScheduleEvent, previous: PreviousRun | None, *, version: str, known: Mapping[Need, Answer]
    ) -> Self:
        """Build the scope of an event. `previous` is the run before it."""
        values = {
            "event": event.value,
            "at": event.at,
            "previous": None if previous is None else run_root.previous_value(previous),
            "source": event.source,
        }
        return cls(values=values, version=version, known=known)

    def evaluate(self, expression: str) -> Value | ExpressionError | Pending:
        """The value of an expression."""
        refs = references.find(expression, roots=ROOTS)
        if isinstance(refs, ExpressionError):
            return refs
        need = Evaluate(expression, (("event", self.version),), {root: self.values[root] for root in refs.roots})
        match self.known.get(need):
            case Value() | ExpressionError() as answer:
                return answer
            case _:
                return Pending((need,))

    def is_true(self, expression: str) -> bool | ExpressionError | Pending:
        """Whether `when` holds. Any value but a boolean is an error."""
        match self.evaluate(resolve.unwrap(expression)):
            case Value(json=bool(value)):
                return value
            case Value(json=value):
                return errors.failed(f"the value is {json_types.described(value)}; it must be true or false")
            case other:
                return other

    def resolve(self, value: JSON) -> Value | ExpressionError | Pending:
        """The value with every `${...}` in its strings replaced."""
        return resolve.resolve_value(value, self)

"""What the expressions of a Workflow can see: `params`, and of each ended task `result`, `results` and `state`.

In the trigger of a mapped task also `mapping.value` and `mapping.index`, in a hook `run`.

Only what an expression refers to is handed to its evaluation, and named by the uids it comes from, so that an answer
is found again without comparing values.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torpor_api.workflow import Workflow
from torpor_cel import errors, references
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON, Value
from torpor_wire import canonical, keys

from torpor_operator.actions import Evaluate, Need
from torpor_operator.outcome import Outcome
from torpor_operator.snapshot import Answer, Presence

ROOTS = frozenset({"params", "tasks"})
MAPPING, RUN = "mapping", "run"
_RESULTS_MAX = 256 * 1024


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the plan cannot have yet: what must be answered first."""

    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The values in reach of one task's expressions."""

    workflow: Workflow
    outcomes: Mapping[str, Outcome]
    known: Mapping[Need, Answer]
    more: Mapping[str, JSON] = field(default_factory=dict)  # further roots

    def within(self, root: str, value: JSON) -> "Scope":
        """The scope with one more root."""
        return replace(self, more={**self.more, root: value})

    def evaluate(self, expression: str) -> Value | ExpressionError | Unknown:
        """The expression's value: read off where it is a plain reference, else asked for."""
        plain = references.is_plain(expression)
        if plain is not None:
            return self._plain(plain.name, plain.field)
        request = self._request(expression)
        if isinstance(request, ExpressionError):
            return request
        answer = self.known.get(request)
        if answer is None or isinstance(answer, Presence):
            return Unknown((request,))
        return answer

    def _plain(self, name: str, field: str) -> Value | ExpressionError:
        seen = self._field(name, field)
        return seen if isinstance(seen, ExpressionError) else Value(json=seen)

    def _request(self, expression: str) -> Evaluate | ExpressionError:
        found = references.of(expression, roots=ROOTS.union(self.more))
        if isinstance(found, ExpressionError):
            return found
        tasks: dict[str, JSON] = {}
        for name in sorted(found.tasks):
            value = self._task(name, [entry.field for entry in found.fields if entry.name == name])
            if isinstance(value, ExpressionError):
                return value
            tasks[name] = value
        more = {root: value for root, value in self.more.items() if root in found.roots}
        values: dict[str, JSON] = {"params": dict(self.workflow.spec.params), "tasks": tasks, **more}
        sources = tuple((name, self._version(name)) for name in sorted(found.tasks))
        sources += tuple((root, canonical.plain(value)) for root, value in sorted(more.items()))
        return Evaluate(expression, sources, values)

    def _task(self, name: str, fields: list[str | None]) -> JSON | ExpressionError:
        value: dict[str, JSON] = {}
        for taken in fields:
            if taken is None:
                return errors.invalid(f"tasks.{name} is used whole: write tasks.{name}.result")
            seen = self._field(name, taken)
            if isinstance(seen, ExpressionError):
                return seen
            value[taken] = seen
        return value

    def _field(self, name: str, field: str) -> JSON | ExpressionError:
        outcome = self.outcomes[name]
        match field:
            case "state":
                return str(outcome.state)
            case "result" if outcome.mapped:
                return errors.invalid(f"task {name} is mapped: write tasks.{name}.results")
            case "result":
                return _result(name, outcome)
            case "results" if outcome.runs and not outcome.mapped:
                return errors.invalid(f"task {name} is not mapped: write tasks.{name}.result")
            case "results":
                return self._results(name, outcome)
            case _:
                return errors.invalid(f"tasks.{name}.{field}: a task has `result`, `results` and `state`")

    def _results(self, name: str, outcome: Outcome) -> JSON | ExpressionError:
        texts = [run.status.result for _, run in sorted(outcome.runs.items()) if run.status.result is not None]
        if sum(map(len, texts)) > _RESULTS_MAX:
            return errors.too_expensive(
                f"tasks.{name}.results is over {_RESULTS_MAX} bytes: pass it whole, as the argument "
                f"${{tasks.{name}.results}}, and reduce it in Python",
            )
        try:
            return [json.loads(text) for text in texts]
        except (ValueError, RecursionError) as error:
            return _unreadable(name, error)

    def _version(self, name: str) -> str:
        return ",".join(run.metadata.uid for _, run in sorted(self.outcomes[name].runs.items()))


def _result(name: str, outcome: Outcome) -> JSON | ExpressionError:
    run = outcome.runs.get(keys.UNMAPPED)
    if run is None or run.status.result is None:
        return None
    try:
        value: JSON = json.loads(run.status.result)
    except (ValueError, RecursionError) as error:
        return _unreadable(name, error)
    return value


def _unreadable(name: str, error: Exception) -> ExpressionError:
    """The worker stores nothing but JSON; another hand may."""
    return errors.failed(f"a result of task {name} is not JSON: {error}")

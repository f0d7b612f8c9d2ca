"""What the expressions of a Workflow can see: `params`, `variables`, and of each task `result`, `results`, `state`.

An instance also sees its `mapping`, a task within groups its index and item of each of `groups`, a hook how the `run`
went.

Only what an expression refers to is handed to its evaluation, and named by the uids it comes from, so that an answer
is found again without comparing values.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import Workflow
from torpor_cel import errors, references
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON, Value
from torpor_wire import canonical, constants
from torpor_wire.instance_paths import Path
from torpor_wire.state import TERMINAL

from torpor_operator.model.actions import Evaluate, Need, ReadVariables
from torpor_operator.model.map_items import Item
from torpor_operator.model.snapshot import Answer, NotArchived, PodWarning, Presence
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import Outcome

PARAMS, TASKS, VARIABLES, MAPPING, GROUPS, RUN = "params", "tasks", "variables", "mapping", "groups", "run"
ROOTS = frozenset({PARAMS, TASKS, VARIABLES})
_RESULTS_MAX = 256 * 1024
_VERSION_MAX = 64
_OF_PARAMS = ".params"  # no task's name


@dataclass(frozen=True, slots=True)
class Pending:
    """A value that the plan cannot have yet: what must be answered first."""

    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The values in reach of one task's expressions."""

    workflow: Workflow
    outcomes: Mapping[str, Outcome]
    known: Mapping[Need, Answer]
    more: Mapping[str, JSON] = field(default_factory=dict)  # further roots
    frame: Path = ()
    items: Mapping[tuple[str, str], Item] = field(default_factory=dict)  # of the groups around, by group and entry
    read: dict[tuple[str, str], JSON | ExpressionError] = field(default_factory=dict)  # of a task before: its fields
    versions: dict[str, str] = field(default_factory=dict)  # both once for all instances that ask
    parsed: dict[tuple[int, str], tuple[Outcome, JSON | ExpressionError]] = field(default_factory=dict)
    """Results by the outcome that they are of, once for the plan: each index of a group may ask for the same ones."""

    def within(self, root: str, value: JSON) -> "Scope":
        """The scope with one more root."""
        return replace(self, more={**self.more, root: value})

    def evaluate(self, expression: str) -> Value | ExpressionError | Pending:
        """The expression's value: read off where it is a plain reference, else asked for."""
        plain = references.is_plain(expression)
        if plain is not None:
            return self._plain(plain.name, plain.field)
        request = self._request(expression)
        if isinstance(request, ExpressionError | Pending):
            return request
        at_hand = _read_off(references.path(expression, roots=frozenset(request.variables)), request.variables)
        if at_hand is not None:
            return at_hand
        answer = self.known.get(request)
        if answer is None or isinstance(answer, Presence | NotArchived | PodWarning):
            return Pending((request,))
        return answer

    def _plain(self, name: str, field: str) -> Value | ExpressionError:
        seen = self._field(name, field)
        return seen if isinstance(seen, ExpressionError) else Value(json=seen)

    def _request(self, expression: str) -> Evaluate | ExpressionError | Pending:
        found = references.of(expression, roots=ROOTS.union(self.more))
        if isinstance(found, ExpressionError):
            return found
        tasks: dict[str, JSON] = {}
        for name in sorted(found.tasks):
            value = self._task(name, [entry.field for entry in found.fields if entry.name == name])
            if isinstance(value, ExpressionError):
                return value
            tasks[name] = value
        if (hidden := self._hidden(found)) is not None:
            return hidden
        more = {root: self._used(root, value, found) for root, value in self.more.items() if root in found.roots}
        if VARIABLES in found.roots:
            variables = self._variables()
            if not isinstance(variables, Value):
                return variables
            more[VARIABLES] = variables.json
        sources = tuple((name, self._version(name)) for name in sorted(found.tasks))
        if PARAMS in found.roots:
            sources += ((PARAMS, self._params_version()),)
        sources += tuple((root, canonical.plain(value)) for root, value in sorted(more.items()))
        params = dict(self.workflow.spec.params) if PARAMS in found.roots else {}
        values: dict[str, JSON] = {PARAMS: params, TASKS: tasks, **more}
        return Evaluate(expression, sources, values)

    def _hidden(self, found: references.References) -> ExpressionError | None:
        """Why an expression cannot be computed that uses an item which is not known here."""
        if any(root == MAPPING and _hidden(self.more[MAPPING], part) for root, *part in found.parts):
            return errors.failed(
                "mapping.value is in the archive, which expressions do not see: use mapping.key or mapping.index, or "
                "look at it in the task"
            )
        groups = self.more.get(GROUPS)
        for root, name, taken in found.parts:
            if root == GROUPS and isinstance(groups, dict) and taken == "value" and _partly(groups.get(name)):
                return _out_of_sight(name, groups.get(name))
        return None

    def _used(self, root: str, value: JSON, found: references.References) -> JSON:
        """Of the groups around, those that are used: an answer for one holds in all indexes of the others."""
        if root != GROUPS or not isinstance(value, dict):
            return value
        names = {name for taken, name, _ in found.parts if taken == GROUPS}
        return {name: item for name, item in value.items() if name in names}

    def _variables(self) -> Value | ExpressionError | Pending:
        """The ConfigMap that the Workflow names; the graph refuses expressions that need one where it names none."""
        metadata = self.workflow.metadata
        asked = ReadVariables(metadata.namespace, self.workflow.spec.variables_from or "", self.workflow.status.clears)
        answer = self.known.get(asked)
        if answer is None or isinstance(answer, Presence | NotArchived | PodWarning):
            return Pending((asked,))
        return answer

    def _task(self, name: str, fields: list[str | None]) -> JSON | ExpressionError:
        value: dict[str, JSON] = {}
        for taken in filter(None, fields):
            if (name, taken) not in self.read:
                self.read[name, taken] = self._field(name, taken)
            seen = self.read[name, taken]
            if isinstance(seen, ExpressionError):
                return seen
            value[taken] = seen
        return value

    def _field(self, name: str, field: str) -> JSON | ExpressionError:
        """A field of a task before; the graph has refused what is none, and one result where there are many."""
        outcome = self.outcomes[name]
        match field:
            case "result" | "results":
                key = (id(outcome), field)
                if key not in self.parsed:
                    found = _result(name, outcome) if field == "result" else self._results(name, outcome)
                    self.parsed[key] = (outcome, found)  # held, so that its id is nobody else's
                return self.parsed[key][1]
            case "indexes":
                return _indexes(outcome)
            case _:
                return str(outcome.state)

    def _results(self, name: str, outcome: Outcome) -> JSON | ExpressionError:
        """The results in the order of the index; instances without one are left out, `indexes` says which are there."""
        runs = list(outcome.finished())
        if any(run.status.stored for run in runs):
            return errors.too_expensive(
                f"of tasks.{name}.results some are in the archive, which expressions do not see: pass them whole, as "
                f"the argument ${{tasks.{name}.results}}, and reduce them in Python",
            )
        if sum(_size(run) for run in runs) > _RESULTS_MAX:
            return errors.too_expensive(
                f"tasks.{name}.results is over {_RESULTS_MAX} bytes: pass it whole, as the argument "
                f"${{tasks.{name}.results}}, and reduce it in Python",
            )
        try:
            return [json.loads(run.status.result or "null") for run in runs]
        except (ValueError, RecursionError) as error:
            return _unreadable(name, error)

    def _params_version(self) -> str:
        """By a digest: params may change while the run goes on, which makes an answer that was found before stale."""
        if _OF_PARAMS not in self.versions:
            self.versions[_OF_PARAMS] = hashlib.sha256(canonical.plain(self.workflow.spec.params).encode()).hexdigest()
        return self.versions[_OF_PARAMS]

    def _version(self, name: str) -> str:
        """What an answer holds for: the task in this state with these TaskRuns, at their end or before it, by a digest.

        The state says more than those do: at other indexes, or for other items, nothing may have been made, or yet.
        """
        if name not in self.versions:
            runs = sorted(self.outcomes[name].runs.items())
            text = ",".join(run.metadata.uid + ("" if run.status.state in TERMINAL else "?") for _, run in runs)
            text = f"{self.outcomes[name].state},{text}"
            self.versions[name] = text if len(text) <= _VERSION_MAX else hashlib.sha256(text.encode()).hexdigest()
        return self.versions[name]


def _read_off(path: tuple[str, ...] | None, values: Mapping[str, JSON]) -> Value | None:
    """The value of an expression that only names fields; None where it is none, or a field is not there."""
    found: JSON = dict(values)
    for name in path or ():
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return Value(json=found) if path else None


def _out_of_sight(group: str, item: JSON) -> ExpressionError:
    """Why an item in the archive cannot be used; a list's can be passed on, of an object's only its key is known."""
    said = f"groups.{group}.value is in the archive, which expressions do not see: use groups.{group}.key"
    listed = isinstance(item, dict) and isinstance(item.get("key"), int)
    whole = f", or pass it whole, as the argument ${{groups.{group}.value}}"
    return errors.too_expensive(said + whole if listed else f"{said}, or map over a list")


def _partly(item: JSON) -> bool:
    """Whether the item of a group is not known here, or one of several is not."""
    if not isinstance(item, dict):
        return False
    key, value = item["key"], item.get("value")
    return "value" not in item or (isinstance(key, dict) and isinstance(value, dict) and len(value) < len(key))


def _indexes(outcome: Outcome) -> JSON:
    """Which instances have a result: their indexes, or of several levels lists of them."""
    if not isinstance(outcome, GroupState):
        return [run.spec.map_index for run in outcome.finished()]
    return [path[0] if len(path) == 1 else [*path] for path in outcome.indexes()]


def _hidden(mapping: JSON, part: list[str | None]) -> bool:
    """Whether this part of an instance's mapping is the value of an item that is not known here."""
    if part[0] != "value" or not isinstance(mapping, dict) or "key" not in mapping:
        return False
    key, value = mapping["key"], mapping.get("value")
    if "value" not in mapping:
        return True
    return isinstance(key, dict) and isinstance(value, dict) and part[1] in key and part[1] not in value


def _size(run: TaskRun) -> int:
    return run.status.stored.size if run.status.stored else len(run.status.result or "")


def _result(name: str, outcome: Outcome) -> JSON | ExpressionError:
    run = outcome.runs.get(constants.UNMAPPED)
    if run is not None and run.status.stored is not None:
        stored = run.status.stored
        return errors.too_expensive(
            f"the result of task {name} is {stored.size} bytes and in the archive, which expressions do not see: "
            f"pass it whole, as the argument ${{tasks.{name}.result}}, or expand over it",
        )
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

"""What the expressions of a task see: `params`, `variables`, `run`, and the results and states of earlier tasks.

An instance also sees its `mapping`, a task in groups the index and item of each of its `groups`. For a hook `run` has
the outcome of the run.

An evaluation gets only the values that its expression refers to. It is identified by the uids of the TaskRuns that they
come from, so that an answer is found again without comparing values.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_expressions import errors, references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import canonical, constants
from torpor_wire.state import TERMINAL

from torpor_operator.expressions import run_root
from torpor_operator.model.actions import Evaluate, Need, ReadConfigMap
from torpor_operator.model.map_items import MapItem
from torpor_operator.model.snapshot import Answer
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import TaskOutcome

PARAMS, TASKS, VARIABLES, MAPPING, GROUPS, RUN = "params", "tasks", "variables", "mapping", "groups", "run"
ROOTS = frozenset({PARAMS, TASKS, VARIABLES, RUN})
_RESULTS_MAX = 256 * 1024
_VERSION_MAX = 64
_PARAMS_VERSION = ".params"  # not a valid name of a task


@dataclass(frozen=True, slots=True)
class Pending:
    """A value that is not available yet: the needs that must be answered first."""

    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What the expressions of one task see."""

    workflow: Workflow
    outcomes: Mapping[str, TaskOutcome]
    known: Mapping[Need, Answer]
    extra_roots: Mapping[str, JSON] = field(default_factory=dict)
    items: Mapping[tuple[str, str], MapItem] = field(default_factory=dict)  # of the groups, by group and entry
    fields_read: dict[tuple[str, str], JSON | ExpressionError] = field(default_factory=dict)  # by task and field
    versions: dict[str, str] = field(default_factory=dict)
    results: dict[tuple[int, str], tuple[TaskOutcome, JSON | ExpressionError]] = field(default_factory=dict)
    """Parsed results by the id of their outcome, once for a plan: all indexes of a group may read the same ones."""
    runs: dict[str, tuple[JSON, str] | ExpressionError] = field(default_factory=dict)
    """The value of `run` and its digest, once for a plan: its event may be long."""

    def with_root(self, root: str, value: JSON) -> "Scope":
        """The scope with one more root."""
        return replace(self, extra_roots={**self.extra_roots, root: value})

    def evaluate(self, expression: str) -> Value | ExpressionError | Pending:
        """The value of the expression: read directly if it only names fields, otherwise from an evaluation."""
        plain = references.is_plain(expression)
        if plain is not None:
            return self._plain(plain.name, plain.field)
        request = self._request(expression)
        if isinstance(request, ExpressionError | Pending):
            return request
        direct = _read_path(references.path(expression, roots=frozenset(request.variables)), request.variables)
        if direct is not None:
            return direct
        answer = self.known.get(request)
        if not isinstance(answer, Value | ExpressionError):
            return Pending((request,))
        return answer

    def _plain(self, name: str, field: str) -> Value | ExpressionError:
        value = self._field(name, field)
        return value if isinstance(value, ExpressionError) else Value(json=value)

    def _request(self, expression: str) -> Evaluate | ExpressionError | Pending:
        refs = references.find(expression, roots=ROOTS.union(self.extra_roots))
        if isinstance(refs, ExpressionError):
            return refs
        tasks: dict[str, JSON] = {}
        for name in sorted(refs.tasks):
            value = self._task(name, [entry.field for entry in refs.fields if entry.name == name])
            if isinstance(value, ExpressionError):
                return value
            tasks[name] = value
        if (hidden := self._hidden(refs)) is not None:
            return hidden
        extra = {root: value for root, value in self.extra_roots.items() if root != RUN and root in refs.roots}
        roots = {root: self._used(root, value, refs) for root, value in extra.items()}
        if VARIABLES in refs.roots:
            variables = self._variables()
            if not isinstance(variables, Value):
                return variables
            roots[VARIABLES] = variables.json
        sources = tuple((name, self._version(name)) for name in sorted(refs.tasks))
        if PARAMS in refs.roots:
            sources += ((PARAMS, self._params_version()),)
        sources += tuple((root, canonical.plain(value)) for root, value in sorted(roots.items()))
        if RUN in refs.roots:
            run = self.run()
            if isinstance(run, ExpressionError):
                return run
            roots[RUN], digest = run
            sources += ((RUN, digest),)
        params = dict(self.workflow.spec.params) if PARAMS in refs.roots else {}
        values: dict[str, JSON] = {PARAMS: params, TASKS: tasks, **roots}
        return Evaluate(expression, sources, values)

    def _hidden(self, refs: references.References) -> ExpressionError | None:
        """Why an expression that uses an item in the archive cannot be evaluated."""
        if any(root == MAPPING and _is_archived(self.extra_roots[MAPPING], part) for root, *part in refs.parts):
            return errors.failed(
                "mapping.value is in the archive, which expressions cannot read: use mapping.key or mapping.index, or "
                "read it in the task"
            )
        groups = self.extra_roots.get(GROUPS)
        for root, name, part in refs.parts:
            if root == GROUPS and isinstance(groups, dict) and part == "value" and _lacks_value(groups.get(name)):
                return _archived_item(name, groups.get(name))
        return None

    def _used(self, root: str, value: JSON, refs: references.References) -> JSON:
        """Only the groups that the expression uses: the answer then holds at all indexes of the others."""
        if root != GROUPS or not isinstance(value, dict):
            return value
        names = {name for group_root, name, _ in refs.parts if group_root == GROUPS}
        return {name: item for name, item in value.items() if name in names}

    def run(self) -> tuple[JSON, str] | ExpressionError:
        """The value of `run`, for a hook with the outcome of the run, and its digest."""
        if RUN not in self.runs:
            value, outcome = run_root.value(self.workflow), self.extra_roots.get(RUN)
            if isinstance(value, dict):
                value |= outcome if isinstance(outcome, dict) else {}
                digest = hashlib.sha256(canonical.plain(value).encode()).hexdigest()
            self.runs[RUN] = value if isinstance(value, ExpressionError) else (value, digest)
        return self.runs[RUN]

    def _variables(self) -> Value | ExpressionError | Pending:
        """The data of the ConfigMap that the Workflow names. Without a name the graph is invalid if this is needed."""
        return self.config_map(self.workflow.spec.variables_from or "", "spec.variablesFrom")

    def config_map(self, name: str, field: str, key: str = "") -> Value | ExpressionError | Pending:
        """The data of a ConfigMap of the namespace that `field` names, or only one key of it."""
        clears = self.workflow.status.clears
        read = ReadConfigMap(self.workflow.metadata.namespace, name, clears, field, key)
        answer = self.known.get(read)
        if not isinstance(answer, Value | ExpressionError):
            return Pending((read,))
        return answer

    def _task(self, name: str, fields: list[str | None]) -> JSON | ExpressionError:
        value: dict[str, JSON] = {}
        for key in filter(None, fields):
            if (name, key) not in self.fields_read:
                self.fields_read[name, key] = self._field(name, key)
            read = self.fields_read[name, key]
            if isinstance(read, ExpressionError):
                return read
            value[key] = read
        return value

    def _field(self, name: str, field: str) -> JSON | ExpressionError:
        """A field of an earlier task; the graph has checked that the task has this field."""
        outcome = self.outcomes[name]
        match field:
            case "result" | "results":
                key = (id(outcome), field)
                if key not in self.results:
                    read = _result(name, outcome) if field == "result" else self._results(name, outcome)
                    self.results[key] = (outcome, read)  # holds the outcome, so that its id stays unique
                return self.results[key][1]
            case "indexes":
                return _indexes(outcome)
            case _:
                return str(outcome.state)

    def _results(self, name: str, outcome: TaskOutcome) -> JSON | ExpressionError:
        """The results by index, without instances that have none; `indexes` lists those that have one."""
        runs = list(outcome.runs_with_result())
        if any(run.status.stored for run in runs):
            return errors.too_expensive(
                f"tasks.{name}.results: some results are in the archive, which expressions cannot read: pass all of "
                f"them as the argument ${{tasks.{name}.results}}, and reduce them in Python",
            )
        if sum(_size(run) for run in runs) > _RESULTS_MAX:
            return errors.too_expensive(
                f"tasks.{name}.results exceeds {_RESULTS_MAX} bytes: pass it whole, as the argument "
                f"${{tasks.{name}.results}}, and reduce it in Python",
            )
        try:
            return [json.loads(run.status.result or "null") for run in runs]
        except (ValueError, RecursionError) as error:
            return _unreadable(name, error)

    def _params_version(self) -> str:
        """A digest: params may change during the run, which makes earlier answers stale."""
        if _PARAMS_VERSION not in self.versions:
            self.versions[_PARAMS_VERSION] = hashlib.sha256(
                canonical.plain(self.workflow.spec.params).encode()
            ).hexdigest()
        return self.versions[_PARAMS_VERSION]

    def _version(self, name: str) -> str:
        """What an answer is valid for: the state of the task and its TaskRuns, each ended or not, as a digest.

        The TaskRuns alone are not enough: at other group indexes there may be none, or none yet.
        """
        if name not in self.versions:
            runs = sorted(self.outcomes[name].runs.items())
            text = ",".join(run.metadata.uid + ("" if run.status.state in TERMINAL else "?") for _, run in runs)
            text = f"{self.outcomes[name].state},{text}"
            self.versions[name] = text if len(text) <= _VERSION_MAX else hashlib.sha256(text.encode()).hexdigest()
        return self.versions[name]


def _read_path(path: tuple[str, ...] | None, values: Mapping[str, JSON]) -> Value | None:
    """The value at a path of fields; None if there is no path, or no such field."""
    value: JSON = dict(values)
    for name in path or ():
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return Value(json=value) if path else None


def _archived_item(group: str, item: JSON) -> ExpressionError:
    """The error for an item in the archive. An item of a list can be passed whole; of an object only keys are known."""
    message = f"groups.{group}.value is in the archive, which expressions cannot read: use groups.{group}.key"
    listed = isinstance(item, dict) and isinstance(item.get("key"), int)
    whole = f", or pass it whole, as the argument ${{groups.{group}.value}}"
    return errors.too_expensive(message + whole if listed else f"{message}, or map over a list")


def _lacks_value(item: JSON) -> bool:
    """Whether the item of a group is in the archive, or one of several items is."""
    if not isinstance(item, dict):
        return False
    key, value = item["key"], item.get("value")
    return "value" not in item or (isinstance(key, dict) and isinstance(value, dict) and len(value) < len(key))


def _indexes(outcome: TaskOutcome) -> JSON:
    """The indexes of the instances with a result; with several levels, lists of indexes."""
    if not isinstance(outcome, GroupState):
        return [run.spec.map_index for run in outcome.runs_with_result()]
    return [path[0] if len(path) == 1 else [*path] for path in outcome.result_paths()]


def _is_archived(mapping: JSON, part: list[str | None]) -> bool:
    """Whether this part of an instance's mapping is the value of an item in the archive."""
    if part[0] != "value" or not isinstance(mapping, dict) or "key" not in mapping:
        return False
    key, value = mapping["key"], mapping.get("value")
    if "value" not in mapping:
        return True
    return isinstance(key, dict) and isinstance(value, dict) and part[1] in key and part[1] not in value


def _size(run: TaskRun) -> int:
    return run.status.stored.size if run.status.stored else len(run.status.result or "")


def _result(name: str, outcome: TaskOutcome) -> JSON | ExpressionError:
    run = outcome.runs.get(constants.UNMAPPED)
    if run is not None and run.status.stored is not None:
        stored = run.status.stored
        return errors.too_expensive(
            f"the result of task {name} has {stored.size} bytes and is in the archive, which expressions cannot read: "
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
    """The error for a result that is not JSON. Workers never store one; other clients can."""
    return errors.failed(f"a result of task {name} is not valid JSON: {error}")

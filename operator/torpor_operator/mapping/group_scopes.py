"""The group paths of a run, and what expressions and trigger rules see at each: groups around, outcomes of other tasks.

A group path exists once the list that its group is mapped over is known. There, a task of the same groups is seen with
its outcome at the same indexes; a task in more or other groups is seen as a mapped task, with all of its instances.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from torpor_crds.models.task import Task
from torpor_expressions.value import JSON
from torpor_wire.instance_paths import Path, written
from torpor_wire.reason import Reason
from torpor_wire.state import TaskState

from torpor_operator.expressions.context import GROUPS, Pending, Scope
from torpor_operator.graph.dag import Graph
from torpor_operator.mapping import expand
from torpor_operator.mapping.expand import Allowed, Product
from torpor_operator.model.actions import Need
from torpor_operator.model.map_items import MapItem
from torpor_operator.model.task_groups import Chain, common
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import TaskOutcome, failed_by_invalid_json, without_runs


class GroupScopes:
    """The outcomes of one plan so far; tasks are added in the order of the graph."""

    def __init__(self, graph: Graph, base: Scope, allowed: int) -> None:
        self._graph = graph
        self._base = base  # what every task sees
        self._allowed = allowed
        self._outcomes: dict[str, dict[Path, TaskOutcome]] = {}
        self._mapped: set[str] = set()  # tasks that are mapped themselves
        self._products: dict[tuple[str, Path], Product | TaskOutcome] = {}
        self._combinations: dict[tuple[str, Path], TaskOutcome] = {}
        self._parts: dict[tuple[str, int], dict[Path, dict[Path, TaskOutcome]]] = {}
        self.needs: list[Need] = []

    def add(self, task: Task, parts: Mapping[Path, TaskOutcome]) -> TaskOutcome:
        """Add the outcomes of a task by group path; returns its outcome as seen from outside all groups."""
        if task.mapped:
            self._mapped.add(task.name)
        self._outcomes[task.name] = (
            {path: replace(part, group_path=path) for path, part in parts.items()}
            if self._graph.chains[task.name]
            else dict(parts)
        )
        return self.outcome_at(task.name, (), ())

    def paths(self, chain: Chain, known: Iterable[Path] = ()) -> Iterator[tuple[Path, TaskOutcome | None]]:
        """The group paths of a task in these groups, each with None, or with the outcome that ends the group there.

        A `known` path is among them even if its group does not have that index, or no longer has it.
        """
        group_ends: dict[Path, TaskOutcome] = {}
        paths: set[Path] = set()
        for path, end in self._expanded(chain):
            yield path, end
            paths.add(path)
            if end is not None:
                group_ends[path] = end
        for path in known:
            if path not in paths:
                around = (group_ends[path[:depth]] for depth in range(len(path)) if path[:depth] in group_ends)
                yield path, next(around, None) or _no_such_index(chain, path)

    def _expanded(self, chain: Chain) -> Iterator[tuple[Path, TaskOutcome | None]]:
        if not chain:
            yield (), None
            return
        for path, end in self._expanded(chain[:-1]):
            product = end or self._product(chain, path)
            if isinstance(product, TaskOutcome):
                yield path, product
            else:
                yield from (((*path, index), None) for index in range(product.total))

    def scope(self, chain: Chain, path: Path) -> Scope:
        """What the expressions of a task see at a path of these groups."""
        if not chain:
            return self._base
        groups: dict[str, JSON] = {}
        items: dict[tuple[str, str], MapItem] = {}
        for depth in range(min(len(chain), len(path))):
            product = self._product(chain[: depth + 1], path[:depth])
            if isinstance(product, Product) and path[depth] < product.total:
                groups[chain[depth]] = product.mapping(path[depth])
                items |= {(chain[depth], entry.name): item for entry, item in product.items(path[depth])}
        return replace(
            self._base,
            outcomes=self.outcomes(chain, path),
            extra_roots={**self._base.extra_roots, GROUPS: groups},
            items=items,
            fields_read={},
            versions={},
        )

    def outcomes(self, chain: Chain, path: Path) -> Mapping[str, TaskOutcome]:
        """The outcomes of the tasks so far, as seen at a path of these groups."""
        return _VisibleOutcomes(self, self._outcomes, chain, path) if chain else self._base.outcomes

    def allowed(self, chain: Chain, path: Path) -> Allowed:
        """How many instances a task may have there: the indexes of a group share the limit of the run."""
        here, indexes = self._allowed, 1
        for depth in range(len(path)):
            product = self._product(chain[: depth + 1], path[:depth])
            width = product.total if isinstance(product, Product) else 1
            here, indexes = here // width, indexes * width
        return Allowed(max(here, 1), self._allowed, indexes)

    def outcome_at(self, task: str, chain: Chain, path: Path) -> TaskOutcome:
        """The outcome of a task as seen at a path of these groups."""
        own_chain = self._graph.chains[task]
        depth = common(chain, own_chain)
        prefix = path[:depth]
        parts = self._outcomes[task]
        if depth == len(own_chain):
            return next(parts[prefix[:length]] for length in range(depth, -1, -1) if prefix[:length] in parts)
        if (task, prefix) not in self._combinations:
            self._combinations[task, prefix] = self._combined(task, prefix, len(own_chain) - depth)
        return self._combinations[task, prefix]

    def _combined(self, task: str, prefix: Path, depth: int) -> TaskOutcome:
        if (task, len(prefix)) not in self._parts:
            by_prefix: dict[Path, dict[Path, TaskOutcome]] = {}
            for path, part in self._outcomes[task].items():
                by_prefix.setdefault(path[: len(prefix)], {})[path[len(prefix) :]] = part
            self._parts[task, len(prefix)] = by_prefix
        below = self._parts[task, len(prefix)]
        parts = next((below[prefix[:length]] for length in range(len(prefix), -1, -1) if prefix[:length] in below), {})
        return GroupState.combined(task, prefix, parts, depth=depth, mapped_in_group=task in self._mapped)

    def _product(self, chain: Chain, path: Path) -> Product | TaskOutcome:
        """What the innermost of these groups is mapped over at a path of the groups around it."""
        name = chain[-1]
        if (name, path) not in self._products:
            self._products[name, path] = self._resolve(chain, path)
        return self._products[name, path]

    def _resolve(self, chain: Chain, path: Path) -> Product | TaskOutcome:
        name, around = chain[-1], chain[:-1]
        match self._resolve_product(name, around, path):
            case Pending(needs):
                self.needs += needs
                return without_runs(name, TaskState.PENDING)
            case TaskOutcome() as end:
                return replace(end, message=end.message and f"group {name}: {end.message}")
            case product:
                return product

    def _resolve_product(self, name: str, around: Chain, path: Path) -> expand.Resolved:
        group = self._graph.groups[name]
        try:
            return expand.resolve_product(group, self.scope(around, path), self.allowed(around, path))
        except (ValueError, RecursionError) as error:
            return failed_by_invalid_json(name, error)


def _no_such_index(chain: Chain, path: Path) -> TaskOutcome:
    """The outcome of a task at a group path that does not exist."""
    message = f"group {chain[-1]} has no index {written(path)}"
    return without_runs(chain[-1], TaskState.SKIPPED, Reason.SKIPPED, message)


class _VisibleOutcomes(Mapping[str, TaskOutcome]):
    def __init__(self, scopes: GroupScopes, tasks: Mapping[str, object], chain: Chain, path: Path) -> None:
        self._scopes = scopes
        self._tasks = tasks
        self._chain = chain
        self._path = path

    def __getitem__(self, task: str) -> TaskOutcome:
        return self._scopes.outcome_at(task, self._chain, self._path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

"""In which frames the tasks of a run stand, and what is seen from each: the groups around, and outcomes of other tasks.

A frame is made when the list that its group is mapped over is known. From there a task of the same groups is seen as it
stands at the same indexes; one that stands deeper, or in other groups, is seen as a mapped task: all of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from torpor_api.models.task import Task
from torpor_api.models.workflow import TaskState
from torpor_cel.value import JSON
from torpor_wire.instance_paths import Path, written
from torpor_wire.reason import Reason

from torpor_operator.expressions.context import GROUPS, Pending, Scope
from torpor_operator.graph.dag import Graph
from torpor_operator.mapping import expand
from torpor_operator.mapping.expand import Allowed, Product
from torpor_operator.model.actions import Need
from torpor_operator.model.map_items import Item
from torpor_operator.model.task_groups import Chain, common
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import Outcome, decided, not_json


class GroupScopes:
    """What is known of the run so far in one plan; tasks are put into it in the order of the graph."""

    def __init__(self, graph: Graph, base: Scope, allowed: int) -> None:
        self._graph = graph
        self._base = base  # what every task sees
        self._allowed = allowed
        self._outcomes: dict[str, dict[Path, Outcome]] = {}
        self._mapped: set[str] = set()  # tasks that are mapped themselves
        self._widths: dict[tuple[str, Path], Product | Outcome] = {}
        self._wholes: dict[tuple[str, Path], Outcome] = {}
        self._below: dict[tuple[str, int], dict[Path, dict[Path, Outcome]]] = {}
        self.needs: list[Need] = []

    def put(self, task: Task, parts: Mapping[Path, Outcome]) -> Outcome:
        """Note how a task stands in each of its frames; returns how it stands as a whole."""
        if task.mapped:
            self._mapped.add(task.name)
        self._outcomes[task.name] = (
            {frame: replace(part, frame=frame) for frame, part in parts.items()}
            if self._graph.chains[task.name]
            else dict(parts)
        )
        return self.seen(task.name, (), ())

    def of(self, chain: Chain, known: Iterable[Path] = ()) -> Iterator[tuple[Path, Outcome | None]]:
        """The frames of a task in these groups, each with None, or with the outcome of all that would stand there.

        Those that are `known` are among them also where their group has not, or no longer, the index they came from.
        """
        closed: dict[Path, Outcome] = {}
        there: set[Path] = set()
        for frame, outcome in self._made(chain):
            yield frame, outcome
            there.add(frame)
            if outcome is not None:
                closed[frame] = outcome
        for frame in known:
            if frame not in there:
                around = (closed[frame[:depth]] for depth in range(len(frame)) if frame[:depth] in closed)
                yield frame, next(around, None) or _beyond(chain, frame)

    def _made(self, chain: Chain) -> Iterator[tuple[Path, Outcome | None]]:
        if not chain:
            yield (), None
            return
        for frame, closed in self._made(chain[:-1]):
            found = closed or self._width(chain, frame)
            if isinstance(found, Outcome):
                yield frame, found
            else:
                yield from (((*frame, index), None) for index in range(found.total))

    def scope(self, chain: Chain, frame: Path) -> Scope:
        """What a task sees there."""
        if not chain:
            return self._base
        seen: dict[str, JSON] = {}
        items: dict[tuple[str, str], Item] = {}
        for depth in range(min(len(chain), len(frame))):
            product = self._width(chain[: depth + 1], frame[:depth])
            if isinstance(product, Product) and frame[depth] < product.total:
                seen[chain[depth]] = product.mapping(frame[depth])
                items |= {(chain[depth], entry.name): item for entry, item in product.items(frame[depth])}
        return replace(
            self._base,
            outcomes=self.outcomes(chain, frame),
            more={**self._base.more, GROUPS: seen},
            frame=frame,
            items=items,
            read={},
            versions={},
        )

    def outcomes(self, chain: Chain, frame: Path) -> Mapping[str, Outcome]:
        """The outcomes of the tasks so far, as seen at a path of these groups."""
        return _VisibleOutcomes(self, self._outcomes, chain, frame) if chain else self._base.outcomes

    def allowed(self, chain: Chain, frame: Path) -> Allowed:
        """How many instances a task may have there: the indexes of a group share what the run may have."""
        here, indexes = self._allowed, 1
        for depth in range(len(frame)):
            product = self._width(chain[: depth + 1], frame[:depth])
            width = product.total if isinstance(product, Product) else 1
            here, indexes = here // width, indexes * width
        return Allowed(max(here, 1), self._allowed, indexes)

    def seen(self, task: str, chain: Chain, frame: Path) -> Outcome:
        """How a task stands, seen from a frame of these groups."""
        others = self._graph.chains[task]
        depth = common(chain, others)
        prefix = frame[:depth]
        parts = self._outcomes[task]
        if depth == len(others):
            return next(parts[prefix[:length]] for length in range(depth, -1, -1) if prefix[:length] in parts)
        if (task, prefix) not in self._wholes:
            self._wholes[task, prefix] = self._whole(task, prefix, len(others) - depth)
        return self._wholes[task, prefix]

    def _whole(self, task: str, prefix: Path, depth: int) -> Outcome:
        if (task, len(prefix)) not in self._below:
            below: dict[Path, dict[Path, Outcome]] = {}
            for frame, part in self._outcomes[task].items():
                below.setdefault(frame[: len(prefix)], {})[frame[len(prefix) :]] = part
            self._below[task, len(prefix)] = below
        found = self._below[task, len(prefix)]
        parts = next((found[prefix[:length]] for length in range(len(prefix), -1, -1) if prefix[:length] in found), {})
        return GroupState.of(task, prefix, parts, depth=depth, itself=task in self._mapped)

    def _width(self, chain: Chain, frame: Path) -> Product | Outcome:
        """What the innermost of these groups is mapped over in a frame of those around it."""
        name = chain[-1]
        if (name, frame) not in self._widths:
            self._widths[name, frame] = self._resolved(chain, frame)
        return self._widths[name, frame]

    def _resolved(self, chain: Chain, frame: Path) -> Product | Outcome:
        name, around = chain[-1], chain[:-1]
        match self._mapped_over(name, around, frame):
            case Pending(needs):
                self.needs += needs
                return decided(name, TaskState.PENDING)
            case Outcome() as found:
                return replace(found, message=found.message and f"group {name}: {found.message}")
            case found:
                return found

    def _mapped_over(self, name: str, around: Chain, frame: Path) -> expand.Resolved:
        try:
            return expand.resolve(self._graph.groups[name], self.scope(around, frame), self.allowed(around, frame))
        except (ValueError, RecursionError) as error:
            return not_json(name, error)


def _beyond(chain: Chain, frame: Path) -> Outcome:
    """The outcome of a task in a frame that there is not."""
    message = f"group {chain[-1]}: there is no index {written(frame)}"
    return decided(chain[-1], TaskState.SKIPPED, Reason.SKIPPED, message)


class _VisibleOutcomes(Mapping[str, Outcome]):
    def __init__(self, frames: GroupScopes, tasks: Mapping[str, object], chain: Chain, frame: Path) -> None:
        self._frames = frames
        self._tasks = tasks
        self._chain = chain
        self._frame = frame

    def __getitem__(self, task: str) -> Outcome:
        return self._frames.seen(task, self._chain, self._frame)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

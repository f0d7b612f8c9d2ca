"""Checks the order of tasks by path (I11).

Within a group an instance awaits those of the same indexes; a task outside awaits all. Checked when TaskRuns
are created, against the committed state: one that comes later than what awaits it is as wrong as one that still runs.
The run itself awaits all.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from torpor_local.apiserver.history import Object
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from tests.simulation.checks.workflow_shape import Shape, path_of


class _Standing(NamedTuple):
    task: str
    path: Path
    clears: int
    over: bool
    name: str
    state: str
    marked: bool


class Order:
    """`expect` notes a check of an invariant."""

    def __init__(self, expect: Callable[[str, bool, str], None]) -> None:
        self.ordered = True  # no request is held up in the network, and no list is old
        self._shapes: dict[str, Shape] = {}
        self._expect = expect
        self._clears: dict[str, int] = {}
        self._standing: dict[str, dict[str, _Standing]] = {}
        self._seen: set[tuple[str, str, Path]] = set()
        self._deleted: dict[str, set[str]] = {}  # tasks of which a person deleted a TaskRun, by Workflow

    def shape(self, flow: Object) -> Shape:
        """What a Workflow asks for."""
        uid = flow["metadata"]["uid"]
        if uid not in self._shapes:
            shape = Shape(flow["spec"])
            if "tasks" not in flow["spec"]:  # the run has not copied its template yet
                return shape
            self._shapes[uid] = shape
        return self._shapes[uid]

    def workflow(self, before: Object | None, after: Object) -> None:
        """How often a Workflow was cleared, and whether it has ended."""
        status, uid = after.get("status", {}), after["metadata"]["uid"]
        self._clears[uid] = status.get("clears", 0)
        ended = "completionTime" in status and "completionTime" not in (before or {}).get("status", {})
        if ended and self.ordered and not _cut_short(after):
            open_ = [standing.name for standing in self._standing.get(uid, {}).values() if not standing.over]
            self._expect(
                "I5", not open_, f"{after['metadata']['name']} has ended in its status, but {open_} have not ended"
            )

    def created(self, run: Object) -> None:
        """A TaskRun that was not there."""
        owner, created = run["spec"]["workflow"]["uid"], _of(run)
        shape = self._shapes[owner]
        self._check_position(run, created, shape)
        # What was under way when somebody asked for a clearing comes to nothing: it is deleted and made anew.
        # A marked one runs nothing, and waits for nothing.
        if self.ordered and created.clears == self._clears[owner] and not created.marked:
            decided = shape.upstream_of(created.task).isdisjoint(self._deleted.get(owner, ()))
            first = (owner, created.task, created.path) not in self._seen and decided
            for other in self._near(owner, shape, created):
                self._judge(shape, created, other, first=first)
        self._seen.add((owner, created.task, created.path))
        self.changed(run)

    def changed(self, run: Object) -> None:
        """The current state of a TaskRun."""
        self._standing.setdefault(run["spec"]["workflow"]["uid"], {})[run["metadata"]["uid"]] = _of(run)

    def gone(self, run: Object) -> None:
        """One that was there. A deletion makes a failure of a success, which may start a task that was skipped."""
        owner, gone = run["spec"]["workflow"]["uid"], _of(run)
        self._standing[owner].pop(run["metadata"]["uid"], None)
        if gone.clears == self._clears.get(owner, 0):
            self._deleted.setdefault(owner, set()).add(gone.task)

    def _judge(self, shape: Shape, created: _Standing, other: _Standing, *, first: bool) -> None:
        if shape.awaits(created.task, other.task):
            self._expect("I11", other.over, f"{created.name} at {created.path} begins before {other.name} has ended")
        if first and other.over and shape.asks_success(created.task, other.task):
            description = f"{created.name} at {created.path} begins, though {other.name} before it ended {other.state}"
            self._expect("I11", other.state == State.SUCCEEDED, description)
        early = shape.awaits(other.task, created.task) and other.clears >= created.clears and not other.marked
        if first and early:
            self._expect(
                "I11", False, f"{created.name} at {created.path} comes later than {other.name}, which awaits it"
            )

    def _near(self, owner: str, shape: Shape, created: _Standing) -> Iterator[_Standing]:
        """All with the same indexes of the groups that both are in."""
        for other in self._standing.get(owner, {}).values():
            shared = shape.shared(created.task, other.task)
            if other.path[:shared] == created.path[:shared]:
                yield other

    def _check_position(self, run: Object, created: _Standing, shape: Shape) -> None:
        depth = len(run["spec"].get("groupIndexes") or ())
        right = depth == len(shape.chains[created.task]) and len(created.path) == shape.depth(created.task)
        self._expect("I11", right, f"{created.name} is at {created.path}, where its task has no instances")


def _cut_short(flow: Object) -> bool:
    """Whether somebody or its time limit ended a run; what was then under way ends a moment later."""
    description = next((entry["reason"] for entry in flow["status"]["conditions"] if entry["type"] == "Succeeded"), "")
    return description in {Reason.CANCELLED, Reason.TIMEOUT}


def _of(run: Object) -> _Standing:
    return _Standing(
        task=run["spec"]["task"],
        path=path_of(run),
        clears=run["spec"].get("clears", 0),
        over=(run.get("status") or {}).get("state") in TERMINAL,
        name=run["metadata"]["name"],
        state=(run.get("status") or {}).get("state", State.SCHEDULED),
        marked="mark" in run["spec"],
    )

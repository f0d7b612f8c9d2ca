"""Checks which instances of a run are created, deleted and cleared: the second half of invariant I2.

It counts committed changes and the responses that each process received. From the Workflow's status it only takes which
instances exist and which were cleared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_kubernetes.client.transport import Response
from torpor_local.apiserver.history import Object
from torpor_local.apiserver.server import ApiRequest
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason

from tests.simulation.checks.workflow_shape import Prefixes, Shape, below, path_of
from tests.simulation.process import Process

_WAITS_AGAIN = "wait again: "
"""How the request of the operator begins, after a run was cleared for which a task had waited."""


class Instance(NamedTuple):
    """What a TaskRun is one of; `workflow` is a uid."""

    workflow: str
    task: str
    path: Path

    @classmethod
    def parse(cls, run: Object) -> "Instance":
        """The one that a TaskRun is."""
        spec = run["spec"]
        return cls(spec["workflow"]["uid"], spec["task"], path_of(run))


class Creations:
    """`expect` notes a check of an invariant."""

    def __init__(self, expect: Callable[[str, bool, str], None]) -> None:
        self.prompt = True  # no request is held up in the network
        self.ordered = True  # nor is any list old
        self._expect = expect
        self._shapes: dict[str, Shape] = {}
        self._uids: dict[Instance, str] = {}
        self._standing: dict[Instance, str] = {}
        self._made: defaultdict[Process, set[Instance]] = defaultdict(set)
        self._marks: dict[tuple[str, str], frozenset[Path]] = {}
        self._cleared: defaultdict[tuple[str, str], list[tuple[int, frozenset[Path]]]] = defaultdict(list)
        self._wishes: defaultdict[str, set[str]] = defaultdict(set)

    def created(self, writer: Process, run: Object) -> None:
        """A TaskRun that was not there."""
        instance, uid, name = Instance.parse(run), run["metadata"]["uid"], run["metadata"]["name"]
        before = self._uids.setdefault(instance, uid)
        self._expect("I2", instance not in self._standing, f"{name} is the second of {instance.task}/{instance.path}")
        self._standing[instance] = uid
        known = before != uid and self.prompt and instance in self._made[writer]
        self._expect("I2", not known, f"{name} is created again by {writer.name}, who created it before")
        again = before != uid and self.ordered and instance.path in self._marks.get(instance[:2], ())
        description = written(self._marks.get(instance[:2], frozenset()))
        self._expect("I2", not again, f"{name} is created again, and the status says that {description} were made")

    def answered(self, process: Process, request: ApiRequest, response: Response | str) -> None:
        """Instances that a process created itself, with a response."""
        created = isinstance(response, Response) and response.status == HTTPStatus.CREATED
        if created and request.path.endswith(f"/{TASKRUNS.plural}") and "workflow" in request.body["spec"]:
            self._made[process].add(Instance.parse(request.body))

    def gone(self, run: Object) -> None:
        """A TaskRun that was there."""
        self._standing.pop(Instance.parse(run), None)

    def dismissed(self, writer: Process, run: Object) -> None:
        """A TaskRun that is being deleted; the operator deletes only what is to be made anew."""
        clears = run["spec"].get("clears", 0)
        theirs = writer.kind != "operator" or any(clears < cleared for cleared in self._clearings(Instance.parse(run)))
        self._expect("I10", theirs, f"{run['metadata']['name']} is deleted by {writer.name} without a clear request")

    def workflow(self, before: Object | None, after: Object, shape: Shape) -> None:
        """What a Workflow now says of its tasks, and which of them somebody wants to have run again."""
        uid, status = after["metadata"]["uid"], after.get("status", {})
        self._shapes[uid] = shape
        annotations = after["metadata"].get("annotations", {})
        wish, mark = annotations.get(constants.CLEAR), annotations.get(constants.MARK)
        if wish is not None:
            self._wishes[uid].add(wish)
        if mark is not None:
            result = annotations.get(constants.MARK_RESULT)
            self._wishes[uid].add(mark if result is None else f"{mark}\n{result}")
        if status.get("clears", 0) > ((before or {}).get("status") or {}).get("clears", 0):
            self._reopened(uid, status["clears"], status["clearing"])
        former = {task["name"]: task.get("reason") for task in ((before or {}).get("status") or {}).get("tasks", ())}
        # The end of a cancelled run reads nothing again, so an old list may hide what exists.
        confirmed = self.ordered or (self.prompt and not _is_cancelled(after))
        for task in status.get("tasks", ()):
            self._marks[uid, task["name"]] = created_paths(task, shape)
            if task.get("reason") == Reason.DELETED != former.get(task["name"]) and confirmed:
                self._deleted(uid, task)

    def _reopened(self, uid: str, clears: int, clearing: Mapping[str, Any]) -> None:
        request = clearing["asked"]
        asked = request in self._wishes[uid] or request.startswith(_WAITS_AGAIN)  # checks/child_runs.py: R6
        self._expect("I2", asked, f"{request} is cleared without a clear request")
        for task in clearing["tasks"]:
            self._cleared[uid, task["name"]].append((clears, _meant(task)))
        there = [instance for instance in self._uids if instance.workflow == uid]
        if (named := _named(request)) is not None:
            self._is_what_was_meant(self._shapes[uid].dependent(named), clears, there)
        for instance in [cleared for cleared in there if clears in self._clearings(cleared)]:
            self._uids.pop(instance)
            for instances in self._made.values():
                instances.discard(instance)

    def _is_what_was_meant(self, wanted: Prefixes, clears: int, there: Iterable[Instance]) -> None:
        """What is named runs again, and what depends on it; within a group only the same indexes."""
        for instance in there:
            meant = below(instance.path, wanted.get(instance.task, ()))
            description = (
                f"{instance.task}/{written([instance.path])} is {'not ' if meant else ''}cleared by clearing {clears}"
            )
            self._expect("I2", meant == (clears in self._clearings(instance)), description)

    def _clearings(self, instance: Instance) -> list[int]:
        """The numbers of the clearings that an instance was meant by."""
        return [number for number, prefixes in self._cleared[instance[:2]] if below(instance.path, prefixes)]

    def _deleted(self, uid: str, task: Mapping[str, Any]) -> None:
        there = sum(instance[:2] == (uid, task["name"]) for instance in self._standing)
        existing = sum(instance[:2] == (uid, task["name"]) for instance in self._uids)
        description = f"{task['name']} counts missing TaskRuns, although all {there} exist"
        self._expect("I5", there < min(existing, task["created"]), description)


def _is_cancelled(flow: Object) -> bool:
    return bool(flow["spec"].get("cancel")) or "deletionTimestamp" in flow["metadata"]


def created_paths(task: Mapping[str, Any], shape: Shape) -> frozenset[Path]:
    """The instances that the status says were made of a task."""
    ranges, depth = task.get("made"), shape.depth(task["name"])
    if shape.chains[task["name"]]:
        there = instance_paths.parse_paths(task.get("instances") or "", depth) - instance_paths.parse_paths(
            task.get("skips") or "", depth
        )
        return there if ranges is None else instance_paths.parse_paths(ranges, depth)
    numbers = Indexes.parse(ranges) if ranges else Indexes.below(task.get("created", 0))
    return frozenset((number,)[:depth] for number in numbers)


def written(paths: Iterable[Path]) -> str:
    """Paths, for a person."""
    return ", ".join(instance_paths.written(path) for path in sorted(paths))


def _meant(task: Mapping[str, Any]) -> frozenset[Path]:
    """The paths that a clearing takes with all below them."""
    if task.get("indexes") is not None:
        return frozenset((index,) for index in task["indexes"])
    if task.get("within") is not None:
        groups = task["within"].split(",")  # of one level or more
        return frozenset(path for group in groups for path in instance_paths.parse_paths(group, group.count(".") + 1))
    return frozenset({()})


def _named(request: str) -> Prefixes | None:
    """What a person's words name; None where they leave it to the operator to find out."""
    if "failed" in request or " because " in request or request.startswith(_WAITS_AGAIN):
        return None
    paths: dict[str, frozenset[Path]] = {}
    for entry in request.split(","):
        task, _, path = entry.strip().partition("/")
        numbers = tuple(map(int, path.split("."))) if path else ()
        paths[task] = paths.get(task, frozenset()) | {numbers}
    return paths

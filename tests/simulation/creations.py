"""Which instances of a run were created, deleted and cleared: the part of the audit that watches over I2's second half.

It counts what was committed and what each process was answered, not what the status of a Workflow says of it; from the
status it takes what is promised there (which instances were made) and what a clearing lets happen again.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from torpor_api.resources import TASKRUNS
from torpor_api.transport import Response
from torpor_wire import keys
from torpor_wire.indexes import Indexes
from torpor_wire.reason import Reason

from tests.fake_api import Request
from tests.fake_api.history import Object
from tests.simulation.process import Process


class Instance(NamedTuple):
    """What a TaskRun is one of; `workflow` is a uid."""

    workflow: str
    task: str
    number: int

    @classmethod
    def of(cls, run: Object) -> "Instance":
        """The one that a TaskRun is."""
        spec = run["spec"]
        return cls(spec["workflow"]["uid"], spec["task"], spec["mapIndex"])


class Creations:
    """`expect` notes a check of an invariant."""

    def __init__(self, expect: Callable[[str, bool, str], None]) -> None:
        self.prompt = True  # no request is held up in the network
        self.ordered = True  # nor is any list old
        self._expect = expect
        self._uids: dict[Instance, str] = {}
        self._standing: dict[Instance, str] = {}
        self._made: defaultdict[Process, set[Instance]] = defaultdict(set)
        self._marks: dict[tuple[str, str], Indexes] = {}
        self._cleared: defaultdict[tuple[str, str], list[tuple[int, Any]]] = defaultdict(list)
        self._wishes: defaultdict[str, set[str]] = defaultdict(set)

    def created(self, writer: Process, run: Object) -> None:
        """A TaskRun that was not there."""
        instance, uid, name = Instance.of(run), run["metadata"]["uid"], run["metadata"]["name"]
        before = self._uids.setdefault(instance, uid)
        self._standing[instance] = uid
        known = before != uid and self.prompt and instance in self._made[writer]
        self._expect("I2", not known, f"{name} is created again by {writer.name}, who created it before")
        made = self._marks.get(instance[:2], Indexes())
        again = before != uid and self.ordered and max(instance.number, 0) in made
        self._expect("I2", not again, f"{name} is created again, and the status says that {made.text()} were made")

    def answered(self, process: Process, request: Request, said: Response | str) -> None:
        """What a process knows for certain: that which it created itself, and was told so."""
        created = isinstance(said, Response) and said.status == HTTPStatus.CREATED
        if created and request.path.endswith(f"/{TASKRUNS.plural}"):
            self._made[process].add(Instance.of(request.body))

    def gone(self, run: Object) -> None:
        """A TaskRun that was there."""
        self._standing.pop(Instance.of(run), None)

    def dismissed(self, writer: Process, run: Object) -> None:
        """A TaskRun that is being deleted; the operator deletes only what is to be made anew."""
        made = run["spec"].get("clears", 0)
        theirs = writer.kind != "operator" or any(made < cleared for cleared in self._clearings(Instance.of(run)))
        self._expect("I10", theirs, f"{run['metadata']['name']} is deleted by {writer.name}, and nobody cleared it")

    def workflow(self, before: Object | None, after: Object) -> None:
        """What a Workflow now says of its tasks, and which of them somebody wants to have run again."""
        uid, status = after["metadata"]["uid"], after.get("status", {})
        wish = after["metadata"].get("annotations", {}).get(keys.CLEAR)
        if wish is not None:
            self._wishes[uid].add(wish)
        if status.get("clears", 0) > ((before or {}).get("status") or {}).get("clears", 0):
            self._reopened(uid, status["clears"], status["clearing"])
        former = {task["name"]: task.get("reason") for task in ((before or {}).get("status") or {}).get("tasks", ())}
        for task in status.get("tasks", ()):
            made, count = task.get("made"), task.get("created", 0)
            self._marks[uid, task["name"]] = Indexes.parse(made) if made else Indexes.below(count)
            if task.get("reason") == Reason.DELETED != former.get(task["name"]) and self.prompt:
                self._deleted(uid, task)

    def _reopened(self, uid: str, clears: int, clearing: Mapping[str, Any]) -> None:
        asked = clearing["asked"]
        self._expect("I2", asked in self._wishes[uid], f"{asked} is cleared, which nobody asked for")
        for task in clearing["tasks"]:
            self._cleared[uid, task["name"]].append((clears, task.get("indexes")))
        for instance in [one for one in self._uids if one.workflow == uid and clears in self._clearings(one)]:
            self._uids.pop(instance)
            for made in self._made.values():
                made.discard(instance)

    def _clearings(self, instance: Instance) -> list[int]:
        """The numbers of the clearings that an instance was meant by."""
        found = self._cleared[instance[:2]]
        return [number for number, indexes in found if indexes is None or instance.number in indexes]

    def _deleted(self, uid: str, task: Mapping[str, Any]) -> None:
        there = sum(instance[:2] == (uid, task["name"]) for instance in self._standing)
        told = f"{task['name']} is said to miss TaskRuns, and all {there} are there"
        self._expect("I5", there < task["created"], told)

"""Which Workflows a Schedule or a TaskRun has started, which are contained in an outermost run, and which are gone."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from torpor_crds.models.workflow import Workflow

K = TypeVar("K")
_GONE_UIDS_MAX = 10_000


class RunIndex(Generic[K]):
    """Workflows, which are in a mapping by their keys, by the uid of what started them."""

    def __init__(self, workflows: Mapping[K, Workflow]) -> None:
        self._workflows = workflows
        self._by_uid: defaultdict[str, set[K]] = defaultdict(set)
        self._by_root: defaultdict[str, set[K]] = defaultdict(set)

    def add(self, key: K, workflow: Workflow) -> None:
        """Add a Workflow. Discard it before its origin changes."""
        for entries, uid in self._entries(workflow):
            entries[uid].add(key)

    def discard(self, key: K, workflow: Workflow) -> None:
        """Remove a Workflow."""
        for entries, uid in self._entries(workflow):
            entries[uid].discard(key)
            if not entries[uid]:
                del entries[uid]

    def started_by(self, uid: str) -> tuple[Workflow, ...]:
        """The runs that the Schedule or the TaskRun with this uid has started, in the order of their keys."""
        keys: Iterable[Any] = self._by_uid.get(uid, ())
        return tuple(self._workflows[key] for key in sorted(keys))

    def by_taskrun(self, uid: str) -> dict[str, Workflow]:
        """The runs whose task a Workflow is about to create again, by the name of the TaskRun."""
        runs = ((run, run.spec.parent) for run in self.started_by(uid))
        return {parent.task_run: run for run, parent in runs if parent is not None}

    def count_in_root(self, workflow: Workflow) -> int:
        """How many runs the outermost run of this one has in it."""
        parent = workflow.spec.parent
        return len(self._by_root.get(workflow.metadata.uid if parent is None else parent.root, ()))

    def _entries(self, workflow: Workflow) -> Iterator[tuple[defaultdict[str, set[K]], str]]:
        if (run_of := workflow.spec.run_of) is not None:
            yield self._by_uid, run_of.uid
        if (parent := workflow.spec.parent) is not None:
            yield self._by_uid, parent.uid
            yield self._by_root, parent.root


class GoneUids:
    """The last uids of objects that the API server no longer has. A uid is never used again: a later event is late."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        """Note that the object is gone."""
        self._uids[uid] = None
        if len(self._uids) > _GONE_UIDS_MAX:
            del self._uids[next(iter(self._uids))]

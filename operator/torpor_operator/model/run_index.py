"""Which Workflows a Schedule or a TaskRun has started, which are contained in an outermost run, and which are gone."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Generic, TypeVar

from torpor_crds.models.workflow import Workflow

K = TypeVar("K")
_GONE_UIDS_MAX = 10_000


class RunIndex(Generic[K]):
    """The keys of Workflows by the uid of what started them."""

    def __init__(self) -> None:
        self._by_uid: defaultdict[str, set[K]] = defaultdict(set)
        self._by_root: defaultdict[str, set[K]] = defaultdict(set)

    def add(self, key: K, workflow: Workflow) -> None:
        """Add a Workflow. Its origin never changes."""
        for entries, uid in self._entries(workflow):
            entries[uid].add(key)

    def discard(self, key: K, workflow: Workflow) -> None:
        """Remove a Workflow."""
        for entries, uid in self._entries(workflow):
            entries[uid].discard(key)
            if not entries[uid]:
                del entries[uid]

    def started_by(self, uid: str) -> Collection[K]:
        """The runs that the Schedule or the TaskRun with this uid has started."""
        return self._by_uid.get(uid, ())

    def contained_in(self, root_uid: str) -> int:
        """How many runs an outermost run has in it."""
        return len(self._by_root.get(root_uid, ()))

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

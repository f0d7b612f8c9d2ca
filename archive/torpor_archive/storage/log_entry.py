"""The entry of one log: what it belongs to, how its container ended, and whether the text was kept. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from torpor_wire import constants
from torpor_wire.enums import LogKind
from torpor_wire.instance_paths import Path, written

from torpor_archive.namespaces import UNKNOWN, NamespaceId

MAIN = "main"
"""The container of the task."""
REASON_MAX = 63
MESSAGE_MAX = 1024


class LogState(StrEnum):
    """Whether the text is stored."""

    PENDING = "Pending"
    KEPT = "Kept"
    LOST = "Lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOrigin:
    """The pod or wait that a log belongs to. `workflow` is a uid, `taskrun` a name.

    `path` has the indexes of a mapped task, its own last. `id` is the uid of the pod, or names the wait. After the uid
    comes the name of the container, unless it is that of the task.
    """

    id: str
    namespace: str
    workflow: str
    taskrun: str
    task: str
    path: Path
    attempt: int
    segment: int
    launch: int
    kind: LogKind
    pod: str = ""
    node: str = ""
    started: str = ""
    namespace_uid: str = UNKNOWN
    container: str = MAIN

    @property
    def namespace_id(self) -> NamespaceId:
        """The identity of its namespace."""
        return NamespaceId(self.namespace, self.namespace_uid)

    def row(self) -> dict[str, Any]:
        """The columns of the table."""
        return asdict(self) | {"path": written(self.path), "kind": self.kind.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOutcome:
    """What became of a log. `reason` says how a kept one's container ended, or why the text was lost.

    `size` and `omitted` are bytes of text: in the container's log, and not stored of it.
    """

    state: LogState
    reason: str = ""
    message: str = ""
    failed: bool = False
    ended: str = ""
    size: int = 0
    omitted: int = 0

    def row(self) -> dict[str, Any]:
        """The columns of the table."""
        text = {"reason": self.reason[:REASON_MAX], "message": self.message[:MESSAGE_MAX].replace("\0", "")}
        return asdict(self) | text | {"state": self.state.value}


def to_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a row as readers get it."""
    *groups, index = map(int, row["path"].split(".")) if row["path"] else [constants.UNMAPPED]
    names = ("id", "taskrun", "task", "attempt", "segment", "launch", "kind", "pod", "container", "node")
    times = ("started", "ended")
    outcome = ("state", "reason", "message", "failed", "size", "omitted")
    place = {"mapIndex": index, "groupIndexes": groups}
    return {name: row[name] for name in (*names, *times)} | place | {name: row[name] for name in outcome}

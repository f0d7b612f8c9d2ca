"""Waits for files on a volume of the triggerer.

`--folder` of the triggerer selects the folders. Files outside them are invisible, also behind symbolic links. File
systems can block, so each check runs in a worker thread.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from torpor_wire import constants, times

from torpor.triggers import cursors, events
from torpor.triggers.base import BaseTrigger
from torpor.triggers.cursors import UNSET, Cursor, SettlingWindow
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, file_access, polling
from torpor.triggers.support.file_access import FileInfo


class File(BaseTrigger):
    """Fires when files match a path or pattern. The event is `{count, files}`.

    Each of `files` has path, size (bytes) and mtime (seconds since the epoch), sorted by path, as many as fit. `count`
    is the number of all matches.

    With `cursor`, it fires for files that were in no event before, in the order of their modification times and paths.
    The event is `{count, files, cursor}`; files that do not fit are in the next event.

        File("/data/in/*.csv", count=24)

    Args:
        path: An absolute path or pattern; `**` matches any number of folders.
        count: The minimum number of matches.
        interval: Time between two checks: a timedelta, seconds, or text such as `30s`.
        settle: With `cursor`: how long after a file another one with an earlier time may appear.
        cursor: The position after the last event, or a time.
    """

    blocking = True

    def __init__(
        self,
        path: str,
        *,
        count: int = 1,
        interval: timedelta | float | str = polling.INTERVAL,
        settle: timedelta | float | str = cursors.SETTLE,
        cursor: Cursor = UNSET,
    ) -> None:
        self.path = arguments.text(path, "path")
        self.count = arguments.count(count, "count")
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        self.settle = arguments.seconds(settle, "settle")
        self.cursor = cursors.cursor(cursor)
        self._after = cursors.progress(self.cursor)
        self._settling_window = SettlingWindow(self.settle, self._after.complete)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        return "file", arguments.differing(self, File.__init__) | cursors.stored(self.cursor)

    def bind(self, services: Services) -> None:
        """Check that the path is in a folder that its namespace may see. Raises ValueError."""
        super().bind(services)
        self._folder = file_access.folder_of(self.path, services.folders)

    def poll(self) -> dict[str, Any] | None:
        """Return the event if there are enough files."""
        try:
            files = file_access.matching(self.path, self._folder)
        except OSError as error:
            self.last_look = f"{self.path} cannot be read: {error.strerror}"
            return None
        if self.cursor is not UNSET:
            return self._new(files)
        self.last_look = f"{len(files)} of {self.count} files match {self.path}"
        if len(files) < self.count:
            return None
        return events.fit_items({"count": len(files)}, "files", [_shown(file) for file in files])

    def _new(self, files: Sequence[FileInfo]) -> dict[str, Any] | None:
        """Return the event of the files after the cursor, without the newest ones.

        Anyone can give a file a time of the next century. As the cursor, it would hide all files before it.
        """
        now = self.services.now()
        latest = now + constants.CLOCK_SLACK_S
        places = [(cursors.position(file.mtime, file.path), _shown(file)) for file in files if file.mtime <= latest]
        new = cursors.settled(places, self._after, self._settling_window, now)
        self.last_look = f"{len(new.items)} of {self.count} new files match {self.path}{new.remark}"
        return cursors.batch("files", new.items, new.complete) if len(new.items) >= self.count else None


def _shown(file: FileInfo) -> dict[str, Any]:
    return {"path": file.path, "size": file.size, "mtime": times.rfc3339(file.mtime)}

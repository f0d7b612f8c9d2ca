"""Waits for files on a volume of the triggerer.

`--folder` of the triggerer selects the folders. Files outside them are invisible, also behind symbolic links. File
systems can block, so each check runs in a worker thread.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from torpor_wire import times

from torpor.triggers.base import BaseTrigger
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, event_size, file_access, polling


class File(BaseTrigger):
    """Fires when files match a path or pattern. The event is `{count, files}`.

    Each of `files` has path, size (bytes) and mtime (seconds since the epoch), sorted by path, as many as fit. `count`
    is the number of all matches.

        File("/data/in/*.csv", count=24)

    Args:
        path: An absolute path or pattern; `**` matches any number of folders.
        count: The minimum number of matches.
        interval: Time between two checks: a timedelta, seconds, or text such as `30s`.
    """

    blocking = True

    def __init__(self, path: str, *, count: int = 1, interval: timedelta | float | str = polling.INTERVAL) -> None:
        self.path = arguments.text(path, "path")
        self.count = arguments.count(count, "count")
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        given = {"path": self.path, "count": self.count, "interval": self.interval}
        return "file", arguments.differing(given, {"count": 1, "interval": polling.INTERVAL})

    def bind(self, services: Services) -> None:
        """Check that the path is in a folder that its namespace may see. Raises ValueError."""
        super().bind(services)
        self._folder = file_access.folder_of(self.path, services.folders)

    def look(self) -> dict[str, Any] | None:
        """Return the event if there are enough files."""
        try:
            found = file_access.matching(self.path, self._folder)
        except OSError as error:
            self.last_look = f"{self.path} cannot be read: {error.strerror}"
            return None
        self.last_look = f"{len(found)} of {self.count} files match {self.path}"
        if len(found) < self.count:
            return None
        files = [{"path": one.path, "size": one.size, "mtime": times.rfc3339(one.mtime)} for one in found]
        return event_size.listed({"count": len(found)}, "files", files)

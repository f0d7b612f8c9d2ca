"""Waiting for files on a volume of the triggerer's.

Which folders waits may look at is the triggerer's to say (`--folder`); what lies outside them is as if it were not
there, wherever a link leads. Asking a file system can block for long, so it is done in a worker thread.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from torpor_wire import times

from torpor.triggers.base import BaseTrigger
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, event_size, file_access, polling


class File(BaseTrigger):
    """Fires when at least `count` files match `path`, an absolute path or pattern: `/data/in/*.csv`, `/data/**/done`.

    The event has `files`, each with path, size and mtime, by path, as many as fit, and `count`, of all that match.
    """

    blocking = True

    def __init__(self, path: str, *, count: int = 1, interval: timedelta | float | str = polling.INTERVAL) -> None:
        self.path = arguments.text(path, "path")
        self.count = arguments.count(count, "count")
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """What differs from the defaults."""
        given = {"path": self.path, "count": self.count, "interval": self.interval}
        return "file", arguments.differing(given, {"count": 1, "interval": polling.INTERVAL})

    def bind(self, services: Services) -> None:
        """Also checks that the path is in a folder that is open to its namespace."""
        super().bind(services)
        self._folder = file_access.folder_of(self.path, services.folders)

    def look(self) -> dict[str, Any] | None:
        """The files, if there are enough."""
        try:
            found = file_access.matching(self.path, self._folder)
        except OSError as error:
            self.last_look = f"{self.path} cannot be looked at: {error.strerror}"
            return None
        self.last_look = f"{len(found)} of {self.count} files match {self.path}"
        if len(found) < self.count:
            return None
        files = [{"path": one.path, "size": one.size, "mtime": times.rfc3339(one.mtime)} for one in found]
        return event_size.listed({"count": len(found)}, "files", files)

"""What the page calls runs, instances and Schedules, in paths and in bodies. Pure."""

import re
from typing import NamedTuple

from torpor_client.runs.references import RunReference
from torpor_wire import instance_paths

from torpor_ui import errors

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"([a-z][a-z0-9_]{0,62})((?:/[0-9]{1,6}){0,9})")


class RunKey(NamedTuple):
    """A run as the page calls it: `live/NS/NAME` or `archive/NS/UID`."""

    source: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class ScheduleKey(NamedTuple):
    """A Schedule as the page calls it: `NS/NAME`."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class InstanceKey(NamedTuple):
    """An instance as the page calls it: `task` or `task/0/2`."""

    task: str
    path: tuple[int, ...]

    def __str__(self) -> str:
        return "/".join((self.task, *map(str, self.path)))

    @property
    def ref(self) -> str:
        """The instance as commands call it: `task` or `task/0.2`."""
        return f"{self.task}/{instance_paths.written(self.path)}" if self.path else self.task

    def reference(self, run: str) -> RunReference:
        """Return the instance of a run as commands parse it."""
        return RunReference(run=run, task=self.task, path=self.path or None)


def is_name(text: str) -> bool:
    """Whether an object can have this name."""
    return _NAME.fullmatch(text) is not None


def run_key(text: str) -> RunKey:
    """Return the key of a run. Raises ProblemError (400)."""
    source, _, rest = text.partition("/")
    namespace, _, name = rest.partition("/")
    if source not in {"live", "archive"} or not _NAME.fullmatch(namespace) or not _NAME.fullmatch(name):
        raise errors.invalid(f"{text[:100]!r} is not a run; use live/NAMESPACE/NAME or archive/NAMESPACE/UID")
    return RunKey(source, namespace, name)


def schedule_key(text: str) -> ScheduleKey:
    """Return the key of a Schedule. Raises ProblemError (400)."""
    namespace, _, name = text.partition("/")
    if not _NAME.fullmatch(namespace) or not _NAME.fullmatch(name):
        raise errors.invalid(f"{text[:100]!r} is not a schedule; use NAMESPACE/NAME")
    return ScheduleKey(namespace, name)


def instance_key(text: str) -> InstanceKey:
    """Return the key of an instance. Raises ProblemError (400)."""
    match = _KEY.fullmatch(text)
    if match is None:
        raise errors.invalid(f"{text[:100]!r} is not an instance; use task or task/0/2")
    return InstanceKey(match[1], tuple(map(int, match[2].split("/")[1:])))

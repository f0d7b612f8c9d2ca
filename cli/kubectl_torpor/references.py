"""Names of runs, tasks and instances as users write them: `NAME`, `NAME/task`, `NAME/task/0.1`, `@latest`. Pure."""

from dataclasses import dataclass

from kubectl_torpor.errors import UsageError

LATEST = "@latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A run, one of its tasks, or instances of the task. `path` has the group indexes, then the index of the task."""

    run: str
    task: str | None = None
    path: tuple[int, ...] | None = None


def parse(text: str) -> Reference:
    """Return the reference of a text. Raises UsageError."""
    run, _, rest = text.partition("/")
    task, _, path = rest.partition("/")
    if not run or (rest and not task):
        raise UsageError(f"{text!r} is no reference; write NAME, NAME/task or NAME/task/0.1")
    try:
        indexes = tuple(map(int, path.split("."))) if path else None
    except ValueError:
        raise UsageError(
            f"{path!r} is no index of an instance; write NAME/task/3, or NAME/task/0.1 in a group"
        ) from None
    return Reference(run=run, task=task or None, path=indexes)

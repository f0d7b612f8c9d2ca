"""How large the TaskRuns of a task may be made: what its author writes once is copied to each of its instances.

A Workflow has at most 1.5 MB, since etcd refuses more. Without a limit here, 481 kB of constants in 1,024 instances
would be half a gigabyte in etcd and in each watch of TaskRuns. Pure.
"""

from collections.abc import Iterable

from torpor_api.models.task import Task
from torpor_api.models.taskrun import Argument, Command
from torpor_wire import canonical, constants


def instance_limit(width: int) -> int:
    """Bytes of arguments and command that each of `width` instances may have.

    All of them together have `ARGUMENTS_TOTAL_MAX` at most, or what `ARGUMENTS_FLOOR` for each comes to.
    """
    share = constants.ARGUMENTS_TOTAL_MAX // max(width, 1)
    return max(constants.ARGUMENTS_FLOOR, min(constants.ARGUMENTS_MAX, share))


def problem(task: Task, arguments: Iterable[Argument], width: int) -> str | None:
    """Why an instance with these arguments is too large, of a task that has `width` instances."""
    size = command_size(task.container) + sum(argument_size(one, mapped=width > 1) for one in arguments)
    limit = instance_limit(width)
    if size <= limit:
        return None
    each = f"each of its {width:,} instances" if width > 1 else "its TaskRun"
    return (
        f"the arguments and the command of {each} are {size:,} bytes; {limit:,} fit: pass large values as a whole "
        "result, such as ${tasks.x.result}, or let the task read them from a ConfigMap or a bucket"
    )


def argument_size(argument: Argument, *, mapped: bool) -> int:
    """Bytes of an argument: its value; of one of many instances also the words that say where a worker reads it."""
    size = len(argument.name) + len((argument.value or "").encode(errors="replace"))
    if mapped and argument.source is not None:
        size += len(canonical.plain(argument.source.to_json()))
    return size


def command_size(command: Command | None) -> int:
    """Bytes of a container's command and arguments."""
    return 0 if command is None else sum(len(word.encode()) for word in (*command.command, *command.args))

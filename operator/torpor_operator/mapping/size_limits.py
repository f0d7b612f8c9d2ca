"""Limits the size of the TaskRuns of a task: what the Workflow contains once is copied to each instance. Pure.

A Workflow has at most 1.5 MB, the limit of etcd. Without a limit here, 481 kB of constants in 1,024 instances would
take half a gigabyte in etcd and in each watch of TaskRuns.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from torpor_crds.models.argument import Argument
from torpor_crds.models.bodies.object_task import ObjectCall
from torpor_crds.models.files import RunFiles
from torpor_crds.models.program import Command, ContainerProgram
from torpor_crds.models.task import Task
from torpor_wire import canonical, constants

from torpor_operator.mapping.container_command import ContainerCommand


def instance_limit(width: int) -> int:
    """Bytes of arguments and command that each of `width` instances may have.

    Together they have at most `ARGUMENTS_TOTAL_MAX`, but each may have `ARGUMENTS_FLOOR`.
    """
    share = constants.ARGUMENTS_TOTAL_MAX // max(width, 1)
    return max(constants.ARGUMENTS_FLOOR, min(constants.ARGUMENTS_MAX, share))


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceParts:
    """What an instance has beside its arguments, with its expressions evaluated."""

    files: RunFiles | None = None
    program: ContainerCommand | None = None
    object_: ObjectCall | None = None


def problem(
    task: Task, arguments: Iterable[Argument], width: int, parts: InstanceParts = InstanceParts()
) -> str | None:
    """Why an instance with these arguments and parts is too large, in a task of `width` instances.

    Without `program`, whose expressions are evaluated, the command counts as its author wrote it.
    """
    size = command_size(task.container) if parts.program is None else program_size(parts.program)
    size += sum(argument_size(argument, mapped=width > 1) for argument in arguments)
    size += len(canonical.plain(parts.files.to_json()).encode()) if parts.files else 0
    size += len(parts.object_.manifest.encode()) if parts.object_ else 0
    limit = instance_limit(width)
    if size <= limit:
        return None
    owner = f"each of the {width:,} instances" if width > 1 else "the TaskRun"
    return (
        f"the arguments, the command, the variables, the files and the object of {owner} have {size:,} bytes; the "
        f"limit is {limit:,}: pass large values as a whole result, such as ${{tasks.x.result}}, or let the task read "
        "them from a ConfigMap or a bucket"
    )


def argument_size(argument: Argument, *, mapped: bool) -> int:
    """Bytes of an argument: its value; in a mapped task also its source, which each instance repeats."""
    size = len(argument.name) + len((argument.value or "").encode(errors="replace"))
    if mapped and argument.source is not None:
        size += len(canonical.plain(argument.source.to_json()))
    return size


def program_size(program: ContainerCommand) -> int:
    """Bytes of a program, and of the values of variables and pod fields that the TaskRun stores."""
    values = (*(each.value for each in program.env), *(each.value for each in program.pod_values))
    return command_size(program.container) + sum(len(value.encode(errors="replace")) for value in values)


def command_size(command: Command | None) -> int:
    """Bytes of a container's commands, arguments, variables and scripts."""
    if command is None:
        return 0
    return sum(_program_size(program) for program in (command, *command.steps))


def _program_size(program: ContainerProgram) -> int:
    values = (variable.value or "" for variable in program.env)
    return sum(
        len(word.encode(errors="replace")) for word in (*program.command, *program.args, *values, program.script or "")
    )

"""Names of arguments that data must not set: those that the author set, and variables that steer a program. Pure.

An item of `expandKwargs` may come from a server, so its keys are data. A key that replaced `url` would send the
author's Secrets to another server. A key `http_proxy` of a container would send its requests through one.
"""

import re
from collections.abc import Iterable

from torpor_crds.models.task import Task
from torpor_wire import trigger

_STEERING = re.compile(r"(?i:.*_proxy)|(?:LD|DYLD|TORPOR|KUBERNETES|BASH|npm_config)_.*|PYTHON.*|PATH|HOME|ENV|IFS")
"""Variables that control what a loader, an interpreter or a shell runs, and which proxy an HTTP client uses."""
_ADVICE = "data must not set it; set it in pod.env"


def steers_a_program(name: str) -> bool:
    """Whether an environment variable decides what a program loads or which server it asks."""
    return _STEERING.fullmatch(name) is not None


def argument_problem(task: Task, name: str) -> str | None:
    """Why an argument of this name cannot be a variable of the task's container; None for other tasks."""
    if task.container is None:
        return None
    if steers_a_program(name):
        return f"{name} is a variable of a loader, shell or proxy: {_ADVICE}"
    if task.pod is not None and any(variable.name == name for variable in task.pod.env):
        return f"{name} is also in pod.env; remove one"
    if any(variable.name == name for program in task.container.programs for variable in program.env):
        return f"{name} is also in container.env; remove one"
    return None


def item_problem(task: Task, name: str) -> str | None:
    """Why a key of an item of `expandKwargs` cannot be an argument: its author has set it, or none may."""
    if name in task.args:
        return f"{name} is also a constant in args; remove one"
    return argument_problem(task, name)


def kwarg_problem(written: Iterable[str], name: str) -> str | None:
    """Why an item cannot be an argument of the trigger whose author wrote the names `written`."""
    plain = name.removeprefix(trigger.SEALED)
    if plain in {each.removeprefix(trigger.SEALED) for each in written}:
        return f"{name} is also in trigger.kwargs; remove one"
    if not plain.isidentifier() or plain.startswith("_"):
        return f"{name!r:.60} is not an identifier and cannot be an argument"
    return None

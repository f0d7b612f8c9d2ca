"""`@task`: marks the functions of a module that workflows name.

The mark changes nothing about the function: it is called in tests as any other. A workflow may name an undecorated
function as well; marked ones are what a message lists when a workflow names one that is not there.
"""

from collections.abc import Callable
from typing import Any, TypeVar

_MARK = "__torpor_task__"

CallableT = TypeVar("CallableT", bound=Callable[..., Any])


def task(function: CallableT) -> CallableT:
    """Marks a plain or async function, or a class with `execute`, as a task."""
    if not callable(function):
        raise TypeError(f"@task marks a function or a class, not a {type(function).__name__}")
    setattr(function, _MARK, True)
    return function


def marked(module: object) -> list[str]:
    """The names of the tasks in a module, in the order of the alphabet."""
    return [name for name, value in sorted(vars(module).items()) if _MARK in getattr(value, "__dict__", {})]

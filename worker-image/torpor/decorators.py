"""`@task`: marks the functions that workflows refer to.

A marked function behaves as before, so tests can call it. A workflow may also name an unmarked function. If it names a
function that does not exist, the message lists the marked ones.
"""

from collections.abc import Callable
from typing import Any, TypeVar

_MARK = "__torpor_task__"

CallableT = TypeVar("CallableT", bound=Callable[..., Any])


def task(function: CallableT) -> CallableT:
    """Mark a function, an async function or a class with `execute` as a task.

        @task
        def extract(day: str) -> list[str]:
            return list_files(day)

    The keyword arguments come from the task's `arguments`, and the returned JSON value is the result (an XCom in
    Airflow). Raises TypeError for anything that cannot be called.
    """
    if not callable(function):
        raise TypeError(f"@task decorates a function or a class, not a {type(function).__name__}")
    setattr(function, _MARK, True)
    return function


def marked(module: object) -> list[str]:
    """Return the names of the tasks in a module, sorted."""
    return [name for name, value in sorted(vars(module).items()) if _MARK in getattr(value, "__dict__", {})]

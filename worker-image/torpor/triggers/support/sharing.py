"""Decides which triggers may serve several TaskRuns that wait for the same. Pure.

Torpor's own triggers have no side effects, so they may. Other classes may have some: Airflow's HttpTrigger sends its
POST, and two tasks with the same POST mean two. Such a class is shared only if it says so itself.
"""

from typing import Any

_FIELD = "shareable"
_OWN = "torpor.triggers"


def is_shareable(trigger: Any) -> bool:
    """Return whether this trigger may serve several TaskRuns. Raises whatever its own attribute raises."""
    says = class_decides(type(trigger)) or _FIELD in getattr(trigger, "__dict__", ())
    return says and getattr(trigger, _FIELD, False) is True


def class_decides(found: Any) -> bool:
    """Return whether the class sets `shareable` itself, instead of inheriting it from a class of Torpor."""
    for one in getattr(found, "__mro__", ()):
        if _FIELD in vars(one):
            return is_own(found) or not is_own(one)
    return False


def is_own(found: Any) -> bool:
    """Return whether a class is one of Torpor's triggers."""
    module = getattr(found, "__module__", "")
    return module == _OWN or str(module).startswith(f"{_OWN}.")

"""Which triggers may serve several TaskRuns that wait for the same.

Torpor's own look and change nothing, so they may. Another class may do anything: Airflow's HttpTrigger sends its POST,
and two tasks that ask for the same POST mean two. So such a class is shared only where it says so itself. Pure.
"""

from typing import Any

_FIELD = "shareable"
_OWN = "torpor.triggers"


def is_shareable(trigger: Any) -> bool:
    """Whether this trigger may serve several TaskRuns. Whatever its own attribute raises, this raises."""
    says = _FIELD in getattr(trigger, "__dict__", ()) or class_decides(type(trigger))
    return says and getattr(trigger, _FIELD, False) is True


def class_decides(found: Any) -> bool:
    """Whether `shareable` is the class's own word, rather than what it inherits from a class of Torpor's."""
    for one in getattr(found, "__mro__", ()):
        if _FIELD in vars(one):
            return _is_own(found) or not _is_own(one)
    return False


def _is_own(found: Any) -> bool:
    module = getattr(found, "__module__", "")
    return module == _OWN or str(module).startswith(f"{_OWN}.")

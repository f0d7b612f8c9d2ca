"""Whether a call can be made, and what to say when it cannot.

Asked before a wait, so that a method which cannot be called is found now and not in hours; `inspect` costs 7 ms, which
only a task pays that defers, or that was called wrongly.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a parameter has this name; what takes any keyword does not say that it wants this one."""
    import inspect  # noqa: PLC0415 - see above

    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def misfit(function: Callable[..., Any], positional: tuple[object, ...], keywords: Mapping[str, Any]) -> str | None:
    """Why the call cannot be made; None also where only the call itself can tell.

    What a decorator's wrapper takes counts, not what it wraps: it may add arguments of its own.
    """
    import inspect  # noqa: PLC0415 - see above

    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        return described(function, keywords, error)
    return None


def described(function: Callable[..., Any], keywords: Iterable[str], error: TypeError) -> str:
    """A call that did not fit, beside what would have."""
    import inspect  # noqa: PLC0415 - see above

    name = getattr(function, "__qualname__", "the task")
    try:
        name += str(inspect.signature(function))
    except (TypeError, ValueError):
        name += "(...)"
    return f"{error}; {name} is given {', '.join(keywords) or 'no arguments'}"

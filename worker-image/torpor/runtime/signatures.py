"""Checks whether a call fits a signature, and explains why not.

Used before a deferral, so that a method that cannot be called fails now and not in hours. `inspect` costs 7 ms, which
only tasks that defer or that are called wrongly pay.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a parameter has this name. `**kwargs` does not count."""
    import inspect  # noqa: PLC0415 - see above

    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def misfit(function: Callable[..., Any], positional: tuple[object, ...], keywords: Mapping[str, Any]) -> str | None:
    """Return why the call does not fit; None if it does, or if only the call itself can tell.

    The signature of a decorator's wrapper counts, because it may add arguments.
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
    """Return a call that does not fit, next to the signature."""
    import inspect  # noqa: PLC0415 - see above

    name = getattr(function, "__qualname__", "the task")
    try:
        name += str(inspect.signature(function))
    except (TypeError, ValueError):
        name += "(...)"
    return f"{error}; {name} is given {', '.join(keywords) or 'no arguments'}"

"""Conditions that people give a trigger as CEL, judged over what it found."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torpor.triggers.services import NotYetError, Services


class Verdict(NamedTuple):
    """Whether it holds, and a few words on that for people."""

    holds: bool
    words: str


def given(condition: object, name: str = "condition") -> str | None:
    """A condition as it was given. Raises TypeError for what is no text."""
    if condition is not None and not isinstance(condition, str):
        raise TypeError(f"{name} takes a CEL expression as text, not {type(condition).__name__}")
    return condition


async def judge(services: Services, condition: str, variables: Mapping[str, Any], name: str = "condition") -> Verdict:
    """Whether it is true; where it has no value, since something is not there yet, it is not.

    Raises TypeError where its value is neither true nor false, ValueError where it can have none.
    """
    try:
        value = await services.evaluate(condition, variables)
    except NotYetError as error:
        return Verdict(holds=False, words=f"{name}: {error}")
    if not isinstance(value, bool):
        raise TypeError(f"{name} yields a {type(value).__name__}, not true or false: {condition}")
    return Verdict(value, f"{name} is {str(value).lower()}")

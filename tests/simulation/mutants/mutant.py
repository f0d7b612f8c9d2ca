"""A mutant: one guard, and the function that removes it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One removed guard. `without` describes the behaviour without it."""

    name: str
    without: str
    switch: Callable[[], None]
    first_seed: int = 0


def put(owner: object, name: str, value: object) -> None:
    """Replace an attribute, without type checks. Raises AttributeError if it does not exist: a guard was renamed."""
    getattr(owner, name)
    setattr(owner, name, value)

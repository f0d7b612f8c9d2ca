"""One guard with the switch that takes it out, and what the switches have in common."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One guard out. `without` says what the code then does."""

    name: str
    without: str
    switch: Callable[[], None]


def put(owner: object, name: str, value: object) -> None:
    """In place of what is there; types are the tests' business, not the mutants'."""
    setattr(owner, name, value)

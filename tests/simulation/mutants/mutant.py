"""A mutant: one guard, and the function that removes it.

A mutant replaces only public names: functions, constants, and the collaborators of a constructor. The code behind them
may change without it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace


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


def put_for(user: ModuleType, module: ModuleType, **values: object) -> None:
    """Replace attributes of a module for one module that imports it. Raises AttributeError if one does not exist."""
    name = module.__name__.rpartition(".")[2]
    copy = SimpleNamespace(**vars(module))
    for attribute, value in values.items():
        put(copy, attribute, value)
    put(user, name, copy)

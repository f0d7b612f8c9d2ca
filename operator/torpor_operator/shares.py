"""How the free slots of a pool are divided among the Workflows that want some. Pure.

Those that resume come first, over all Workflows: hours of waiting stand behind them. Then each free slot goes to the
Workflow that holds the fewest; among equals to the one that has wanted longest.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one Workflow wants of a pool. `since` is a moment of any clock, the same for all."""

    held: int
    resumes: int
    starts: int
    since: float

    @property
    def wants(self) -> int:
        """How many slots more it would take."""
        return self.resumes + self.starts


def divided(free: int, claims: Mapping[K, Claim]) -> dict[K, int]:
    """How many more slots each may take now; who gets none is not in it."""
    given: dict[K, int] = {}
    for resuming in (True, False):
        while free > 0:
            open_ = [key for key, claim in claims.items() if given.get(key, 0) < _limit(claim, resuming=resuming)]
            if not open_:
                break
            key = min(open_, key=lambda one: (claims[one].held + given.get(one, 0), claims[one].since))
            given[key] = given.get(key, 0) + 1
            free -= 1
    return given


def _limit(claim: Claim, *, resuming: bool) -> int:
    return claim.resumes if resuming else claim.wants

"""Guards, each with a switch that takes it out; `hunt` looks for the seeds that notice.

A guard that no seed needs is needless, or the simulation is too weak to show what it is for. The switches replace
named functions in an interpreter of their own; nothing in the code under test knows of them.
"""

from tests.simulation.mutants import frames, knowledge, leases, pods, skips, waits, writes
from tests.simulation.mutants.mutant import Mutant

__all__ = ["MUTANTS", "Mutant", "switch"]

MUTANTS = (
    *writes.MUTANTS,
    *pods.MUTANTS,
    *knowledge.MUTANTS,
    *leases.MUTANTS,
    *waits.MUTANTS,
    *frames.MUTANTS,
    *skips.MUTANTS,
)


def switch(name: str) -> None:
    """Take one guard out of this interpreter."""
    next(one for one in MUTANTS if one.name == name).switch()

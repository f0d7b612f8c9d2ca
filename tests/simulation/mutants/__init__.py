"""The mutants: each removes one guard. `mutation_run` finds the seeds that detect it.

A guard that no seed needs is unnecessary, or the simulation is too weak. A mutant replaces functions in its own
interpreter; the tested code does not know of mutants.
"""

from tests.simulation.mutants import (
    child_runs,
    containers,
    failures,
    group_paths,
    knowledge,
    leases,
    marks,
    notifications,
    object_tasks,
    pods,
    schedules,
    skips,
    waits,
    writes,
)
from tests.simulation.mutants.mutant import Mutant

__all__ = ["MUTANTS", "Mutant", "switch"]

MUTANTS = (
    *writes.MUTANTS,
    *pods.MUTANTS,
    *knowledge.MUTANTS,
    *leases.MUTANTS,
    *waits.MUTANTS,
    *group_paths.MUTANTS,
    *skips.MUTANTS,
    *schedules.MUTANTS,
    *marks.MUTANTS,
    *failures.MUTANTS,
    *child_runs.MUTANTS,
    *containers.MUTANTS,
    *notifications.MUTANTS,
    *object_tasks.MUTANTS,
)


def switch(name: str) -> None:
    """Remove one guard from this interpreter."""
    next(mutant for mutant in MUTANTS if mutant.name == name).switch()

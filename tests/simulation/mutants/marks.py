"""Guards of marks: a mark is kept until its TaskRun exists, and a marked TaskRun runs nothing."""

from typing import Any

from torpor_operator.taskrun import builder, transitions
from torpor_operator.taskrun.step import Step
from torpor_operator.workflows.plan import clear

from tests.simulation.mutants.mutant import Mutant, put
from tests.simulation.scenarios.marks import FIRST_SEED


def _forgotten_early() -> None:
    put(clear, "_is_carried_out", lambda *_: True)


def _runs() -> None:
    def wants_pod(view: Any, _: object) -> Step:
        return transitions._want_pod(view)

    put(transitions, "_marked", wants_pod)


def _not_built() -> None:
    class Unmarked:
        @staticmethod
        def of_instance(*_: object) -> None:
            return None

    put(builder, "marks", Unmarked)


MUTANTS = (
    Mutant(
        name="mark until it is carried out",
        without="the operator forgets a mark before its TaskRun exists",
        switch=_forgotten_early,
        first_seed=FIRST_SEED,
    ),
    Mutant(
        name="marked TaskRun without a pod",
        without="a marked TaskRun gets a pod",
        switch=_runs,
        first_seed=FIRST_SEED,
    ),
    Mutant(
        name="mark of a TaskRun",
        without="a TaskRun is created without its mark",
        switch=_not_built,
        first_seed=FIRST_SEED,
    ),
)

"""Guards of marks: a mark is kept until its TaskRun exists, and a marked TaskRun runs nothing."""

from dataclasses import replace

from torpor_crds.models.taskrun import TaskRun, TaskRunSpec
from torpor_operator.state import marks
from torpor_operator.taskrun import builder, transitions
from torpor_operator.taskrun.step import Step, TaskRunView
from torpor_operator.workflows.plan import clear

from tests.simulation.mutants.mutant import Mutant, put, put_for
from tests.simulation.scenarios.marks import FIRST_SEED


def _forgotten_early() -> None:
    put_for(clear, marks, parse=lambda _: None)


def _runs() -> None:
    next_step = transitions.next_step

    def unmarked(view: TaskRunView) -> Step:
        spec = TaskRunSpec.model_construct(**dict(view.taskrun.spec) | {"mark": None})
        return next_step(replace(view, taskrun=TaskRun.model_construct(**dict(view.taskrun) | {"spec": spec})))

    put(transitions, "next_step", unmarked)


def _not_built() -> None:
    put_for(builder, marks, of_instance=lambda *_: None)


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

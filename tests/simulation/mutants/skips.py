"""Guards of TaskRuns that end Skipped: who may say so, that it is final, and what it counts as."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from torpor.runtime import foreign_exceptions
from torpor_operator import gate
from torpor_operator import outcome as task_outcome
from torpor_operator.gate import Ends
from torpor_operator.spread import Spread
from torpor_triggerer import outcome, task_ends
from torpor_wire import edge
from torpor_wire.reason import Reason

from tests.simulation.mutants.mutant import Mutant, put


def _word_of_a_task() -> None:
    put(foreign_exceptions, "skip_of", lambda _: None)


def _word_of_an_event() -> None:
    put(task_ends, "of_event", outcome.of_event)


def _final() -> None:
    put(outcome, "_AGAIN_THE_SAME", outcome._AGAIN_THE_SAME - {Reason.FAILED_BY_EVENT})


def _fence() -> None:
    def untested(*args: Any, **kwargs: Any) -> edge.Patch:
        return [op for op in edge.skip(*args, **kwargs) if op["op"] != "test"]

    put(outcome, "edge", SimpleNamespace(**vars(edge) | {"skip": untested}))


def _no_success() -> None:
    counted = gate._ends_of

    def well(before: Any) -> Ends:
        ends = counted(before)
        began = 0 if isinstance(before, Spread) else before.skipped
        return replace(ends, succeeded=ends.succeeded + began, skipped=ends.skipped - began)

    put(gate, "_ends_of", well)


def _all_of_it() -> None:
    put(task_outcome.Outcome, "skipped", 0)


MUTANTS = (
    Mutant(name="skip by a task", without="a task that skips itself fails", switch=_word_of_a_task),
    Mutant(name="end by an event", without="an event that ends its task resumes it", switch=_word_of_an_event),
    Mutant(name="end for good", without="an event that fails its task has it tried again", switch=_final),
    Mutant(name="skip fence", without="a trigger skips whatever it finds", switch=_fence),
    Mutant(name="skip is no success", without="what skipped itself counts as a success", switch=_no_success),
    Mutant(name="skips counted", without="the status counts only what `when` left out", switch=_all_of_it),
)

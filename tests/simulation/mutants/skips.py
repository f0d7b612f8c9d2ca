"""Guards of TaskRuns that end Skipped: preconditions, finality and counts."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from torpor.runtime import exceptions
from torpor_operator.graph import trigger_rules
from torpor_operator.graph.trigger_rules import OutcomeCounts
from torpor_operator.state import task_state
from torpor_operator.state.group_state import GroupState
from torpor_triggerer.model import outcome
from torpor_triggerer.usercode import task_end_events
from torpor_wire import transitions
from torpor_wire.reason import Reason

from tests.simulation.mutants.mutant import Mutant, put


def _word_of_a_task() -> None:
    put(exceptions, "skip_of", lambda _: None)


def _word_of_an_event() -> None:
    put(task_end_events, "of_event", outcome.from_event)


def _final() -> None:
    put(outcome, "_FINAL_REASONS", outcome._FINAL_REASONS - {Reason.FAILED_BY_EVENT})


def _skip_precondition() -> None:
    def untested(*args: Any, **kwargs: Any) -> transitions.Patch:
        return [op for op in transitions.skip(*args, **kwargs) if op["op"] != "test"]

    put(outcome, "transitions", SimpleNamespace(**vars(transitions) | {"skip": untested}))


def _no_success() -> None:
    counted = trigger_rules._count

    def well(before: Any) -> OutcomeCounts:
        counts = counted(before)
        ran = 0 if isinstance(before, GroupState) else before.skipped
        return replace(counts, succeeded=counts.succeeded + ran, skipped=counts.skipped - ran)

    put(trigger_rules, "_count", well)


def _all_of_it() -> None:
    put(task_state.TaskOutcome, "skipped", 0)


MUTANTS = (
    Mutant(name="skip by a task", without="a task that skips itself fails", switch=_word_of_a_task),
    Mutant(name="end by an event", without="an event that ends its task resumes it", switch=_word_of_an_event),
    Mutant(name="failure by an event", without="a task that its event fails is retried", switch=_final),
    Mutant(name="skip precondition", without="a trigger's skip has no preconditions", switch=_skip_precondition),
    Mutant(name="skip is no success", without="a task that skipped itself counts as succeeded", switch=_no_success),
    Mutant(name="skip count", without="the status counts only instances skipped by `when`", switch=_all_of_it),
)

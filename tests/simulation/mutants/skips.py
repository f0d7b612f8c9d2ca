"""Guards of TaskRuns that end Skipped: preconditions, finality and counts."""

from collections.abc import Iterable
from dataclasses import replace

from torpor.runtime import exceptions
from torpor_operator.graph import trigger_rules
from torpor_operator.graph.trigger_rules import OutcomeCounts
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import TaskOutcome
from torpor_triggerer.model import outcome
from torpor_triggerer.usercode import task_end_events
from torpor_wire import transitions
from torpor_wire.reason import Reason

from tests.simulation.mutants.mutant import Mutant, put, put_for
from tests.simulation.mutants.writes import untested


def _skip_of_a_task() -> None:
    put(exceptions, "skip_of", lambda _: None)


def _end_of_an_event() -> None:
    put(task_end_events, "of_event", outcome.from_event)


def _final() -> None:
    put(outcome, "FINAL_REASONS", outcome.FINAL_REASONS - {Reason.FAILED_BY_EVENT})


def _skip_precondition() -> None:
    put_for(outcome, transitions, skip=untested(transitions.skip))


def _no_success() -> None:
    count_outcomes = trigger_rules.count_outcomes

    def as_succeeded(upstream: Iterable[TaskOutcome]) -> OutcomeCounts:
        outcomes = list(upstream)
        counts = count_outcomes(outcomes)
        skipped = sum(each.skipped for each in outcomes if not isinstance(each, GroupState))  # a group counts its parts
        return replace(counts, succeeded=counts.succeeded + skipped, skipped=counts.skipped - skipped)

    put(trigger_rules, "count_outcomes", as_succeeded)


def _uncounted() -> None:
    put(TaskOutcome, "skipped", 0)


MUTANTS = (
    Mutant(name="skip by a task", without="a task that skips itself fails", switch=_skip_of_a_task),
    Mutant(name="end by an event", without="an event that ends its task resumes it", switch=_end_of_an_event),
    Mutant(name="failure by an event", without="a task that its event fails is retried", switch=_final),
    Mutant(name="skip precondition", without="a trigger's skip has no preconditions", switch=_skip_precondition),
    Mutant(name="skip is no success", without="a task that skipped itself counts as succeeded", switch=_no_success),
    Mutant(name="skip count", without="the status counts only instances skipped by `when`", switch=_uncounted),
)

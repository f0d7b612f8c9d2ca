"""Guards of failures: which of them are retried, and which fail the run."""

from torpor_operator.taskrun import retry_rules
from torpor_operator.workflows.plan import status

from tests.simulation.mutants.mutant import Mutant, put


def _any_failure() -> None:
    put(retry_rules, "unwanted", lambda *_: "")


def _without_end() -> None:
    put(retry_rules, "exceeded_total", lambda *_: "")


def _no_failure_allowed() -> None:
    put(status, "tolerated_tasks", lambda *_: frozenset())


def _all_failures_allowed() -> None:
    put(status, "tolerated_tasks", lambda _, outcomes: frozenset(outcome.task for outcome in outcomes))


MUTANTS = (
    Mutant(name="retries.when", without="any failure is retried", switch=_any_failure),
    Mutant(name="retries.for", without="attempts start however late", switch=_without_end),
    Mutant(name="mayFail", without="a task that may fail fails its run", switch=_no_failure_allowed),
    Mutant(name="tasks that may not fail", without="no failed task fails its run", switch=_all_failures_allowed),
)

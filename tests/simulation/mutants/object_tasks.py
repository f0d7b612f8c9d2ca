"""Guards of object tasks."""

from torpor_triggerer.services.account_watch import ObjectSubscription
from torpor_wire.objects import object_manifest

from tests.simulation.mutants.mutant import Mutant, put
from tests.simulation.scenarios.random_object_tasks import FIRST_SEED


def _random_name() -> None:
    count = iter(range(1_000_000))
    put(object_manifest, "object_name", lambda _, taskrun, uid, attempt: f"{taskrun[:30]}-{attempt}-{next(count)}")


def _no_adoption() -> None:
    put(object_manifest, "is_of_attempt", lambda stored, uid, attempt: False)


def _unseen_deletion() -> None:
    put(ObjectSubscription, "mark_stale", lambda _: None)


MUTANTS = tuple(
    Mutant(name=name, without=without, switch=switch, first_seed=FIRST_SEED)
    for name, without, switch in (
        ("name of an object", "each creation of an object has another name", _random_name),
        ("adoption of an object", "a repeated creation takes its object for that of another owner", _no_adoption),
        ("deleted object", "a task waits on for an object that was deleted", _unseen_deletion),
    )
)

"""Guards of notifications: sent at least once, created once, and not lost with their run."""

import itertools
from dataclasses import replace
from typing import Any

from torpor.triggers import notification
from torpor.triggers.support import delivery
from torpor_operator.notifications import decide, due
from torpor_operator.notifications.due import DueNotification
from torpor_wire import names

from tests.simulation.mutants.mutant import Mutant, put
from tests.simulation.scenarios.random_notifications import FIRST_SEED


def _random_id() -> None:
    derive, count = due.notifications, itertools.cycle(range(3))

    def numbered(each: DueNotification) -> DueNotification:
        number = next(count)
        return replace(each, id=f"{each.id[:-1]}{number}", taskrun=names.taskrun("run", each.id, f"n{number}", -1))

    put(due, "notifications", lambda *given: [numbered(each) for each in derive(*given)])


def _sent_again() -> None:
    put(decide, "is_open", lambda _: True)


def _by_edge() -> None:
    derive = due.notifications

    def at_the_end(snapshot: Any, status: Any) -> list[DueNotification]:
        return [] if snapshot.workflow.status.completion_time is not None else derive(snapshot, status)

    put(due, "notifications", at_the_end)


def _ttl() -> None:
    put(decide, "until_settled", lambda plan, _: plan.actions)


def _once() -> None:
    async def try_once(trigger: Any, _receiver: Any, send: Any) -> int:
        try:
            return int(await send())
        except OSError:
            return 0

    put(delivery, "deliver", try_once)
    put(notification, "delivery", delivery)


MUTANTS = tuple(
    Mutant(name=name, without=without, switch=switch, first_seed=FIRST_SEED)
    for name, without, switch in (
        ("id of a notification", "each plan gives a notification another id", _random_id),
        ("settled notification", "a delivered notification whose TaskRun is gone is sent again", _sent_again),
        ("notification of an ended run", "only the plan that ends a run creates its notifications", _by_edge),
        ("TTL and notifications", "the TTL deletes a run with pending notifications", _ttl),
        ("accepted notification", "a notification is sent once, whatever the answer", _once),
    )
)

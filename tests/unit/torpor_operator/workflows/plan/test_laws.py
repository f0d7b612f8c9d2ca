"""Laws of the plan on random graphs: it converges, and the result does not depend on the order of events."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from torpor_wire import constants

from tests.support import random_runs
from tests.support.plan_fixture import PlanFixture
from tests.support.random_runs import RandomRun

seeds = st.integers(0, 2**32)


def world_of(seed: int, count: int) -> PlanFixture:
    chance = Random(seed)
    return PlanFixture(*random_runs.tasks(chance, count), parallelism=chance.randint(1, 4))


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 6), seeds, seeds)
def test_any_order_of_events_and_crashes_converges(seed: int, count: int, first_seed: int, other: int) -> None:
    first = RandomRun(world_of(seed, count), seed, Random(first_seed)).run()
    second = RandomRun(world_of(seed, count), seed, Random(other)).run()
    assert random_runs.ending(first) == random_runs.ending(second)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 6), seeds, seeds)
def test_a_cleared_run_converges_to_the_same_end(seed: int, count: int, first_seed: int, other: int) -> None:
    order = Random(other)
    world = RandomRun(world_of(seed, count), seed, Random(first_seed)).run()
    before, tasks = _counts(world), [task.name for task in world.stored.spec.tasks]
    wish = ",".join(order.sample(tasks, order.randint(1, len(tasks))))
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: wish}
    RandomRun(world, seed, order).run()
    assert _counts(world) == before
    assert (world.status.clears, world.status.clearing, world.workflow["metadata"]["annotations"]) == (1, None, {})


def _counts(world: PlanFixture) -> object:
    """How a run ended, without messages, which may contain times."""
    entries = [entry.model_copy(update={"message": None}) for entry in world.status.tasks]
    return world.condition()[:2], world.status.progress, entries


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6))
def test_a_plan_after_its_application_is_empty(seed: int, count: int) -> None:
    world = world_of(seed, count).settle()
    plan = world.plan()
    assert plan.actions == ()
    assert plan.needs == ()
    assert plan.status in {None, world.status}


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6))
def test_a_plan_is_a_function_of_its_snapshot(seed: int, count: int) -> None:
    world = world_of(seed, count)
    while world.plan().actions:
        assert world.plan() == world.plan()
        world.apply(world.plan())

"""What is kept of answers: an expression that looks at many results keeps none of them."""

import json

from torpor_operator.controller.reconciler import without_variables
from torpor_operator.model.actions import Evaluate, Need
from torpor_operator.model.snapshot import Answer
from torpor_operator.plan.planner import plan

from tests.support.builders import python
from tests.support.plan_world import World

WIDTH = 20


def zipped() -> World:
    """A mapped task each instance of which takes the result of its own index."""
    expand = [{"name": "n", "over": list(range(WIDTH))}]
    world = World(
        python("first", expand=expand),
        python("second", expand=expand, args={"x": "${tasks.first.results[mapping.index]}"}),
        parallelism=WIDTH,
    ).settle()
    for index in range(WIDTH):
        world.claim("first", index)
        world.report_success("first", index, json.dumps("x" * 100))
    return world


def asked(world: World) -> list[Evaluate]:
    return [need for need in plan(world.snapshot()).needs if isinstance(need, Evaluate)]


def test_instances_that_look_at_the_same_results_share_them_and_are_told_apart_in_little_space() -> None:
    needs = asked(zipped())
    assert len(needs) == len(set(needs)) == WIDTH
    assert len({id(need.variables["tasks"]["first"]["results"]) for need in needs}) == 1  # type: ignore[index, call-overload]
    assert all(len(str(need.sources)) < 1_000 for need in needs)


def test_an_answer_is_found_again_without_the_values_it_was_made_from() -> None:
    world = zipped()
    answers: dict[Need, Answer] = {need: world.api.answer(need) for need in asked(world)}
    kept = without_variables(answers)
    assert [need.variables for need in kept if isinstance(need, Evaluate)] == [{}] * WIDTH
    assert asked_with(world, kept) == []


def asked_with(world: World, known: dict[Need, Answer]) -> list[Need]:
    return [need for need in plan(world.snapshot(known)).needs if need not in known]

"""Graphs are built in slices, so that one Workflow's expressions never hold the event loop."""

import asyncio

import pytest
from torpor_crds.models import workflow as models
from torpor_crds.models.workflow import Workflow
from torpor_expressions import syntax
from torpor_operator.graph.dag import Graph
from torpor_operator.workflows.graph_builder import GraphBuilder

from tests.support.builders import python

pytestmark = pytest.mark.attack

PARSED_IN_A_SLICE = 20


def workflow(name: str, namespace: str, expressions: int) -> Workflow:
    """A Workflow with so many expressions, which no other has."""
    args = {
        f"a{n}": [f"${{'{name}' + string({n}) + string({m})}}" for m in range(50)] for n in range(expressions // 50)
    }
    metadata = {"name": name, "namespace": namespace}
    return models.parse({"metadata": metadata, "spec": {"image": "x", "tasks": [python("t", args=args)]}})


async def most_parsed_in_a_turn(building: "asyncio.Task[object]") -> int:
    """The most expressions that were parsed between two turns of another coroutine."""
    syntax._parse.cache_clear()
    most, before = 0, 0
    while not building.done():
        await asyncio.sleep(0)
        now = syntax._parse.cache_info().misses
        most, before = max(most, now - before), now
    return most


async def test_other_coroutines_run_after_few_expressions() -> None:
    builder = GraphBuilder()
    building = asyncio.create_task(builder.build(workflow("large", "a", 1_000)))
    assert 0 < await most_parsed_in_a_turn(building) <= PARSED_IN_A_SLICE
    assert isinstance(building.result(), Graph)


async def test_a_namespace_with_many_large_workflows_takes_one_turn_of_many() -> None:
    builder, order = GraphBuilder(), list[str]()

    async def build(name: str, namespace: str, expressions: int) -> None:
        await builder.build(workflow(name, namespace, expressions))
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(build(f"large_{number}", "a", 500))
        group.create_task(build("neighbour", "b", 100))
    assert order[0] == "neighbour"


async def test_a_small_workflow_is_built_without_waiting() -> None:
    builder = GraphBuilder()
    large = asyncio.create_task(builder.build(workflow("large", "a", 1_000)))
    await asyncio.sleep(0)
    small = builder.build(workflow("small", "a", 0))
    with pytest.raises(StopIteration) as built:
        small.send(None)
    assert isinstance(built.value.value, Graph)
    assert not large.done()
    await large

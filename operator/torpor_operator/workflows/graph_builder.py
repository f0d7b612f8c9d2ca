"""Builds the graphs of Workflows in slices, because parsing their expressions may take seconds.

A slice takes about 5 ms. The first runs at once, so a small Workflow never waits. The other slices of all Workflows
take turns with everything else on the loop; one Workflow of a namespace is built at a time.
"""

import asyncio
from collections.abc import Generator
from weakref import WeakValueDictionary

from torpor_crds.models.workflow import Workflow

from torpor_operator.graph import dag
from torpor_operator.graph.dag import Graph, GraphProblem
from torpor_operator.graph.spec_expressions import Cost

_SLICE = 500
"""The cost of a slice. It is not measured in time, so that a run with virtual time repeats exactly."""

Steps = Generator[Cost, None, Graph | GraphProblem]


class GraphNotBuiltError(Exception):
    """A plan needs the graph of a Workflow, which must be built first."""


class GraphBuilder:
    """Builds graphs; namespaces take turns slice by slice."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # fair: first come, first served
        self._namespaces: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def build(self, workflow: Workflow) -> Graph | GraphProblem:
        """The graph of the Workflow, or why it has none."""
        steps = dag.build_in_steps(workflow.spec)
        built = _advance(steps)
        if built is not None:
            return built
        async with self._namespaces.setdefault(workflow.metadata.namespace, asyncio.Lock()):
            while built is None:
                async with self._turn:
                    await asyncio.sleep(0)
                    built = _advance(steps)
        return built


def _advance(steps: Steps) -> Graph | GraphProblem | None:
    """Run one slice. Returns the graph at the end."""
    cost = 0
    while cost < _SLICE:
        try:
            cost += next(steps)
        except StopIteration as end:
            built: Graph | GraphProblem = end.value
            return built
    return None

"""The snapshot of one Workflow and what several decisions of its plan derive from it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from torpor_crds.models.workflow import Workflow
from torpor_wire import times

from torpor_operator.graph import dag
from torpor_operator.graph.dag import Graph
from torpor_operator.model.snapshot import Snapshot

BuildGraph: TypeAlias = Callable[[Workflow], Graph | dag.GraphProblem]


def build_graph(workflow: Workflow) -> Graph | dag.GraphProblem:
    """The graph of a Workflow, or why it has none."""
    return dag.build(workflow.spec)


@dataclass(frozen=True)  # no slots: a cached property needs the instance's dictionary
class RunContext:
    """What each decision reads. The graph is built on first use, since a finished run needs none."""

    snapshot: Snapshot
    build_graph: BuildGraph = build_graph

    @property
    def workflow(self) -> Workflow:
        """The Workflow."""
        return self.snapshot.workflow

    @cached_property
    def _built(self) -> Graph | dag.GraphProblem:
        return self.build_graph(self.workflow)

    @property
    def graph_problem(self) -> dag.GraphProblem | None:
        """Why the spec has no graph; None where it has one."""
        return self._built if isinstance(self._built, dag.GraphProblem) else None

    @property
    def graph(self) -> Graph:
        """The graph of the spec. Raises ValueError where `graph_problem` is set."""
        match self._built:
            case Graph() as graph:
                return graph
            case problem:
                raise ValueError(problem.message)

    @property
    def timeout_at(self) -> float | None:
        """When spec.timeout expires, in seconds since the epoch; None before the run has started."""
        status = self.workflow.status
        started, timeout = status.reopened_time or status.start_time, self.workflow.spec.timeout
        return times.epoch(started) + times.seconds(timeout) if started and timeout else None

"""How the failure and the skipping of tasks reach the end of a run, in Airflow and in Torpor. Pure."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from torpor_wire.enums import TriggerRule

_TOLERANT = {
    TriggerRule.ALL_DONE,
    TriggerRule.ALL_FAILED,
    TriggerRule.ALL_SKIPPED,
    TriggerRule.ONE_FAILED,
    TriggerRule.ONE_DONE,
    TriggerRule.NONE_SKIPPED,
    TriggerRule.ALWAYS,
}
"""Rules that never become UpstreamFailed."""
_NEEDS_ONE = {TriggerRule.ONE_SUCCESS, TriggerRule.ALL_DONE_MIN_ONE_SUCCESS}
_UNCHANGED_BY_A_SUCCESS = {TriggerRule.ALL_DONE, TriggerRule.NONE_FAILED}
_SKIPPED_WITH_ONE = {TriggerRule.ALL_SUCCESS, TriggerRule.NONE_SKIPPED, TriggerRule.ALL_DONE_MIN_ONE_SUCCESS}
_SKIPPED_WITH_ALL = {TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, TriggerRule.ONE_SUCCESS}


@dataclass(frozen=True, slots=True, kw_only=True)
class DagNode:
    """A task of a DAG. `rule` is its rule in Torpor."""

    name: str
    rule: str = TriggerRule.ALL_SUCCESS
    upstream: AbstractSet[str] = frozenset()
    is_teardown: bool = False
    fails_run: bool = True
    """Whether the failure of a teardown fails the run."""


def may_fail(nodes: Sequence[DagNode]) -> AbstractSet[str]:
    """Return the tasks whose failure alone leaves a run of Airflow successful, where the leaf tasks decide.

    `nodes` are in topological order.
    """
    return {node.name for node in nodes if not _fails_run(node, nodes)}


def _fails_run(failed: DagNode, nodes: Sequence[DagNode]) -> bool:
    if failed.is_teardown:
        return failed.fails_run
    leaves = _leaves(nodes)
    reached = {failed.name}
    for node in nodes:
        if not node.is_teardown and _is_reached(node, reached):
            reached.add(node.name)
    return not leaves.isdisjoint(reached)


def _is_reached(node: DagNode, reached: AbstractSet[str]) -> bool:
    if node.rule in _TOLERANT or reached.isdisjoint(node.upstream):
        return False
    return node.rule not in _NEEDS_ONE or node.upstream <= reached


def _leaves(nodes: Sequence[DagNode]) -> AbstractSet[str]:
    """Return the tasks that decide on the outcome: those without a downstream task that is no teardown."""
    inner = {upstream for node in nodes if not node.is_teardown for upstream in node.upstream}
    return {node.name for node in nodes if not node.is_teardown and node.name not in inner}


def skipped_by(name: str, nodes: Sequence[DagNode], *, only_direct: bool) -> tuple[Sequence[str], Sequence[str]]:
    """Return what must come directly after a short circuit, so that it skips what it skips in Airflow.

    The first names are the tasks of which it is an upstream task, present and new ones. The second ones are those for
    which there is no such form: a new upstream task would change their rule.
    """
    direct = [node.name for node in nodes if name in node.upstream]
    if only_direct:
        return direct, []
    below: set[str] = {name}
    added: list[str] = []
    impossible: list[str] = []
    for node in nodes:
        if node.is_teardown or below.isdisjoint(node.upstream):
            continue
        skips_itself = node.rule in _SKIPPED_WITH_ONE or (node.rule in _SKIPPED_WITH_ALL and node.upstream <= below)
        below.add(node.name)
        if name in node.upstream or skips_itself:
            continue
        (added if node.rule in _UNCHANGED_BY_A_SUCCESS else impossible).append(node.name)
    return [*direct, *added], impossible


def ancestors(name: str, upstream: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    """Return all tasks before a task."""
    found: set[str] = set()
    waiting = [*upstream[name]]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(upstream[each])
    return found

"""The graph of a Workflow from its JSON: order, upstream tasks, and groups. Pure.

References in expressions are found in their text, without a CEL parser: `tasks.x`, `tasks['x']`. The operator decides
by the syntax tree; the two differ only for such a text in a string literal of an expression.
"""

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from torpor_views import json_fields
from torpor_views.json_fields import Fields

_REFERENCE = re.compile(r"""\btasks\s*(?:\.\s*([a-z][a-z0-9_]*)|\[\s*['"]([a-z][a-z0-9_]*)['"]\s*\])""")
_EXPRESSION = re.compile(r"(?<!\$)\$\{.*", re.DOTALL)
_BARE = ("when",)
_DEPTH_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGraph:
    """`order` is topological, hooks last. `chains`: the groups of each task, outermost first."""

    order: tuple[str, ...]
    upstream: Mapping[str, tuple[str, ...]]
    before: Mapping[str, tuple[str, ...]]
    chains: Mapping[str, tuple[str, ...]]


def build(spec: Fields) -> TaskGraph:
    """Return the graph of a spec; tasks of a cycle come last, in the order of the spec."""
    tasks = {
        name: task for task in json_fields.objects(spec.get("tasks")) if (name := json_fields.text(task.get("name")))
    }
    groups = group_chains(spec)
    chains = {name: groups.get(json_fields.text(task.get("group")), ()) for name, task in tasks.items()}
    producers = {
        json_fields.text(group.get("name")): _references(group.get("expand"), tasks)
        for group in json_fields.objects(spec.get("groups"))
    }
    hooks = {name for name, task in tasks.items() if task.get("hook") is not None}
    upstream: dict[str, tuple[str, ...]] = {}
    before: dict[str, tuple[str, ...]] = {}
    for name, task in tasks.items():
        named = _upstream(task, tasks, chains, name)
        upstream[name] = _in_order(named & hooks if name in hooks else named, tasks)
        lists = set[str]().union(*(producers.get(group, set()) for group in chains[name]))
        before[name] = _in_order({*upstream[name], *lists} - {name}, tasks)
    return TaskGraph(order=_order(tasks, before, hooks), upstream=upstream, before=before, chains=chains)


def group_chains(spec: Fields) -> Mapping[str, tuple[str, ...]]:
    """Return each group with the groups around it and itself, outermost first."""
    around = {
        name: json_fields.text(group.get("in"))
        for group in json_fields.objects(spec.get("groups"))
        if (name := json_fields.text(group.get("name")))
    }
    chains: dict[str, tuple[str, ...]] = {}
    for name, outermost in around.items():
        chain, outer = [name], outermost
        while outer in around and outer not in chain and len(chain) < _DEPTH_MAX:
            chain.insert(0, outer)
            outer = around[outer]
        chains[name] = tuple(chain)
    return chains


def _upstream(body: Fields, tasks: Mapping[str, Fields], chains: Mapping[str, tuple[str, ...]], own: str) -> set[str]:
    """The tasks that a task comes after: by `after`, of which an entry may be a group, and by reference."""
    named: set[str] = set()
    for entry in json_fields.texts(body.get("after")):
        named |= {entry} if entry in tasks else {name for name, chain in chains.items() if entry in chain}
    return (named | _references(body, tasks)) - {own}


def _references(body: object, tasks: Mapping[str, Fields]) -> set[str]:
    names = (match[1] or match[2] for expression in _expressions(body) for match in _REFERENCE.finditer(expression))
    return {name for name in names if name in tasks}


def _expressions(value: object, depth: int = 64) -> Iterator[str]:
    """The texts of a value that contain CEL."""
    match value:
        case _ if depth == 0:
            return
        case str():
            yield from _EXPRESSION.findall(value)
        case Mapping():
            yield from (value[name] for name in _BARE if isinstance(value.get(name), str))
            for item in value.values():
                yield from _expressions(item, depth - 1)
        case list() | tuple():
            for item in value:
                yield from _expressions(item, depth - 1)
        case _:
            return


def _in_order(names: Iterable[str], tasks: Mapping[str, Fields]) -> tuple[str, ...]:
    chosen = set(names)
    return tuple(name for name in tasks if name in chosen)


def _order(tasks: Mapping[str, Fields], before: Mapping[str, tuple[str, ...]], hooks: set[str]) -> tuple[str, ...]:
    """Kahn's algorithm; of the tasks that are ready, the first of the spec comes first, hooks after all others."""
    rank = {name: (name in hooks, place) for place, name in enumerate(tasks)}
    waiting = {name: len(before[name]) for name in tasks}
    downstream: dict[str, list[str]] = {name: [] for name in tasks}
    for name in tasks:
        for other in before[name]:
            downstream[other].append(name)
    ready = [(rank[name], name) for name, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        _, name = heapq.heappop(ready)
        order.append(name)
        for other in downstream[name]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, (rank[other], other))
    return (*order, *(name for name in tasks if name not in set(order)))

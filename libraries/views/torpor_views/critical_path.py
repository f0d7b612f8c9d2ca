"""The critical path of a run: the chain of instances, each of which began when the one before it ended. Pure.

It ends with the instance that ended last, or with the one that has been open for the longest time while the run goes
on. Of several upstream instances, the one that ended last released the next one.
"""

from collections.abc import Iterator

from torpor_views.model import InstanceView, RunView, TaskView

_CLOCKS_S = 2.0
"""Seconds by which clocks of pods, triggerers and the API server may differ."""
_LENGTH_MAX = 1000


def build(run: RunView) -> tuple[InstanceView, ...]:
    """Return the instances of the path, the first one first; empty without instances."""
    path: dict[str, InstanceView] = {}
    current = _last(run)
    while current is not None and len(path) < _LENGTH_MAX and current.ref not in path:
        path[current.ref] = current
        current = _before(run, current)
    return tuple(reversed(path.values()))


def _last(run: RunView) -> InstanceView | None:
    instances = run.all_instances()
    still_open = [instance for instance in instances if not instance.ended]
    if still_open and not run.ended:
        return min(still_open, key=lambda instance: (_created(instance), instance.ref))
    return max(instances, key=lambda instance: (instance.completed or 0.0, _created(instance)), default=None)


def _before(run: RunView, instance: InstanceView) -> InstanceView | None:
    """The upstream instance that ended last before this one was created."""
    task = run.task(instance.task)
    if task is None or instance.created is None:
        return None
    limit = instance.created + _CLOCKS_S
    ended = (
        (other.completed, other)
        for other in _upstream(run, task, instance)
        if other.completed is not None and other.completed <= limit
    )
    return max(ended, key=lambda pair: pair[0], default=(0.0, None))[1]


def _upstream(run: RunView, task: TaskView, instance: InstanceView) -> Iterator[InstanceView]:
    """The instances that a task comes after, in its own iteration of groups. A task without any passes through."""
    queue, seen = list(_before_task(run, task)), set[str]()
    while queue:
        name = queue.pop()
        other = run.task(name)
        if other is None or name in seen:
            continue
        seen.add(name)
        instances = run.instances_of(name)
        depth = _common(task, other)
        yield from (each for each in instances if each.path[:depth] == instance.path[:depth])
        if not instances:
            queue += other.before


def _before_task(run: RunView, task: TaskView) -> tuple[str, ...]:
    """The tasks before a task. A hook comes after all tasks that are none."""
    if task.hook and not task.before:
        return tuple(other.name for other in run.tasks if not other.hook)
    return task.before


def _common(first: TaskView, second: TaskView) -> int:
    """How many groups two tasks share, from the outermost."""
    depth = 0
    for own, other in zip(first.groups, second.groups, strict=False):
        if own != other:
            break
        depth += 1
    return depth


def _created(instance: InstanceView) -> float:
    return instance.created or 0.0

"""Why a run, a task or an instance does not run: sentences with the commands that help. Pure.

`torpor_views.causes` has the causes, one module for each level.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from torpor_views.causes import instance_causes, notification_causes, run_causes, slots, task_causes
from torpor_views.causes.cause import Cause, CauseKind, Urgency
from torpor_views.facts import Facts
from torpor_views.model import InstanceView, RunView, TaskView

__all__ = ["Cause", "CauseKind", "Urgency", "of_instance", "of_run", "of_task"]

NOTHING = Facts()
_ORDER = tuple(Urgency)
_REPORTED_ONCE = frozenset({CauseKind.NOT_SEEN, CauseKind.SUSPENDED, CauseKind.NAMESPACE_NOT_READY})


def of_run(run: RunView, facts: Facts = NOTHING) -> tuple[Cause, ...]:
    """Return why the run does not go on: its own causes, then one for each task and kind that does not run now.

    A notification that failed or has not arrived is a cause too.
    Causes that need a person come first. Tasks that run or have ended well are left out. Instances of a task with the
    same cause are one entry, with `others`.
    """
    own = run_causes.of_run(run)
    reported = {cause.kind for cause in own} & _REPORTED_ONCE
    each = (cause for task in run.tasks for cause in of_task(run, task, facts))
    causes = [cause for cause in each if cause.urgency is not Urgency.DONE and cause.kind not in reported]
    others = (*causes, *notification_causes.of_run(run))
    return (*own, *sorted(others, key=lambda cause: _ORDER.index(cause.urgency)))


def of_task(run: RunView, task: TaskView, facts: Facts = NOTHING) -> tuple[Cause, ...]:
    """Return why a task does not go on, also if it runs or has ended.

    Instances with the same cause are one entry, with `others`. Without the TaskRuns, the causes of instances are
    missing.
    """
    instances = run.instances_of(task.name)
    slot = slots.missing_slot(run, facts, task)
    each = [cause for instance in instances for cause in _of_instance(run, instance, facts, slot)]
    folded = _folded(cause for cause in each if cause.urgency is not Urgency.DONE)
    own = task_causes.of_task(run, facts, task)
    if own is not None and not _repeats(own, folded):
        return (*folded, own)
    return tuple(folded) or tuple(_folded(each))


def of_instance(run: RunView, task: TaskView, instance: InstanceView, facts: Facts = NOTHING) -> tuple[Cause, ...]:
    """Return why one instance does not go on, or what it does: the cause, and a timeout that is nearly over."""
    return _of_instance(run, instance, facts, slots.missing_slot(run, facts, task))


def _of_instance(run: RunView, instance: InstanceView, facts: Facts, slot: Cause | None) -> tuple[Cause, ...]:
    near = instance_causes.timeout_near(run, instance)
    cause = instance_causes.of_instance(run, facts, instance, slot)
    return (cause,) if near is None else (cause, near)


def _folded(causes: Iterable[Cause]) -> list[Cause]:
    """The first of each kind and reason, with the number of the others."""
    by_kind: dict[tuple[CauseKind, str], list[Cause]] = {}
    for cause in causes:
        by_kind.setdefault((cause.kind, cause.reason), []).append(cause)
    return [replace(some[0], others=len(some) - 1) for some in by_kind.values()]


def _repeats(own: Cause, instances: Sequence[Cause]) -> bool:
    """Whether the instances already say what the task says: that it failed, or waits for the same slot."""
    return any(cause.kind is own.kind for cause in instances)

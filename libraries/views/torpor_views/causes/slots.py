"""Which slot an instance waits for, and who holds it: of a pool, of its task, or of its run. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_views import json_fields
from torpor_views.causes import commands
from torpor_views.causes.cause import Cause, CauseKind, Urgency
from torpor_views.facts import Facts, SlotPool
from torpor_views.messages import listed
from torpor_views.model import InstanceView, RunView, TaskView


def missing_slot(run: RunView, facts: Facts, task: TaskView) -> Cause | None:
    """Return the slot that the instances of a task wait for; None if the status names none.

    It reads all instances, so a caller with many of them calls it once, and `of_instance` for each.
    """
    subject = f"Task {task.name}"
    match task.reason:
        case Reason.POOL_UNKNOWN:
            sentence = f"{subject} waits for pool {task.pool}, which is not in ConfigMap {constants.POOLS_CONFIG}."
            command = commands.edit_pools(run) if facts.pools else commands.create_pool(run, task.pool)
            return _cause(CauseKind.POOL_UNKNOWN, Urgency.ACT, task, sentence, command)
        case Reason.POOL_FULL:
            sentence = f"{subject} waits for a slot of pool {task.pool}: {_pool_holders(run, facts, task.pool)}."
            command = commands.edit_pools(run)
            return _cause(CauseKind.POOL_FULL, Urgency.WAIT, task, sentence, command)
        case Reason.MAX_ACTIVE_REACHED:
            held = [
                other.ref for other in run.instances_of(task.name) if _holds(other, facts, deferred=run.count_deferred)
            ]
            by = f": held by {listed(held)}" if held else ""
            sentence = f"{subject} waits for a slot of its task (maxActive {task.max_active}){by}."
            return _cause(CauseKind.MAX_ACTIVE, Urgency.WAIT, task, sentence, commands.torpor("get", run))
        case Reason.PARALLELISM_REACHED:
            held = [other.ref for other in run.all_instances() if _holds(other, facts, deferred=run.count_deferred)]
            by = f": held by {listed(held)}" if held else ""
            sentence = f"{subject} waits for a slot of the run (spec.parallelism {run.parallelism}){by}."
            command = commands.raise_parallelism(run)
            return _cause(CauseKind.PARALLELISM, Urgency.WAIT, task, sentence, command)
        case _:
            return None


def of_instance(slot: Cause, instance: InstanceView) -> Cause:
    """Return the slot that one instance waits for, from that of its task."""
    sentence = slot.sentence.replace(f"Task {instance.task} ", f"Task {instance.ref} ", 1)
    return replace(slot, sentence=sentence, ref=instance.ref, taskrun=instance.name, since=instance.created)


def _cause(kind: CauseKind, urgency: Urgency, task: TaskView, sentence: str, command: str) -> Cause:
    return Cause(
        kind=kind,
        urgency=urgency,
        sentence=json_fields.one_line(sentence, 2000),
        task=task.name,
        ref=task.name,
        reason=task.reason,
        command=command,
    )


def _pool_holders(run: RunView, facts: Facts, name: str) -> str:
    """How many slots the pool has, and which instances of the namespace hold them."""
    pool = None if facts.pools is None else facts.pools.get(name)
    size = "" if pool is None else f"all {pool.slots} slots are" if pool.slots != 1 else "its only slot is"
    if pool is not None and pool.slots == 0:
        return "the pool has 0 slots"
    others = run.all_instances() if facts.others is None else facts.others
    held = [
        f"{instance.workflow}/{instance.ref}"
        for instance in _in_pool(others, name)
        if _holds(instance, facts, deferred=_deferred(pool))
    ]
    if not held:
        return f"{size} taken" if size else "it is full"
    return f"{size} held by {listed(held)}" if size else f"slots are held by {listed(held)}"


def _in_pool(instances: Iterable[InstanceView], pool: str) -> Iterable[InstanceView]:
    return (instance for instance in instances if instance.pool == pool)


def _deferred(pool: SlotPool | None) -> bool:
    return pool is not None and pool.deferred


def _holds(instance: InstanceView, facts: Facts, *, deferred: bool) -> bool:
    """Whether an instance holds a slot: while it has a pod, a run, an object or a request.

    Without the pods, a Scheduled one counts as having none.
    """
    match instance.state:
        case State.RUNNING:
            return True
        case State.DEFERRED:
            return deferred or instance.kind in {"run", "object", "http"}
        case State.SCHEDULED:
            return any(pod.name == instance.pod_name and not pod.terminal for pod in facts.pods_of(instance))
        case _:
            return False

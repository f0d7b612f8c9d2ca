"""What is said of instances that wait for a slot: of a pool, of their task, or of their run. Pure.

It stands on the task's entry in the status of the Workflow and counts nothing, so that it is written when the wait
begins and when it ends. A TaskRun that waits is not written to: there may be thousands.
"""

from collections.abc import Mapping
from typing import NamedTuple

from torpor_api.models.workflow import WorkflowSpec
from torpor_wire import constants
from torpor_wire.reason import Reason


class SlotWait(NamedTuple):
    """What the instances of a task wait for."""

    reason: Reason
    message: str


def sentences(spec: WorkflowSpec, refused: Mapping[str, Reason]) -> Mapping[str, SlotWait]:
    """For each task of which an instance found no slot, what it waits for."""
    tasks = {task.name: task for task in spec.tasks}
    found: dict[str, SlotWait] = {}
    for name, reason in refused.items():
        match reason:
            case Reason.POOL_FULL:
                pool = f"of pool {tasks[name].pool}, which others hold (ConfigMap {constants.POOLS_CONFIG})"
            case Reason.MAX_ACTIVE_REACHED:
                pool = f"of the task: maxActive is {tasks[name].max_active}"
            case _:
                pool = f"of the run: spec.parallelism is {spec.parallelism}"
        found[name] = SlotWait(reason, f"instances wait for a slot {pool}")
    return found

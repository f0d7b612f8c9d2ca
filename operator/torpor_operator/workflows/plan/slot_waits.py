"""Messages of tasks whose instances wait for a slot: of a pool, of their task, or of their run. Pure.

They are in the status of the Workflow and contain no counts, so that they are written when a wait begins and ends.
TaskRuns that wait are not written to: there may be thousands.
"""

from collections.abc import Mapping
from typing import NamedTuple

from torpor_crds.models.workflow import WorkflowSpec
from torpor_wire import constants
from torpor_wire.reason import Reason


class SlotWait(NamedTuple):
    """What the instances of a task wait for."""

    reason: Reason
    message: str


def slot_waits(spec: WorkflowSpec, refused: Mapping[str, Reason]) -> Mapping[str, SlotWait]:
    """What each task waits for that has an instance without a slot."""
    tasks = {task.name: task for task in spec.tasks}
    waits: dict[str, SlotWait] = {}
    for name, reason in refused.items():
        match reason:
            case Reason.POOL_FULL:
                owner = f"of pool {tasks[name].pool}, which is full (ConfigMap {constants.POOLS_CONFIG})"
            case Reason.MAX_ACTIVE_REACHED:
                owner = f"of the task: maxActive is {tasks[name].max_active}"
            case _:
                owner = f"of the run: spec.parallelism is {spec.parallelism}"
        waits[name] = SlotWait(reason, f"instances wait for a slot {owner}")
    return waits

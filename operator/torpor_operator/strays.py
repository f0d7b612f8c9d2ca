"""TaskRuns that no Workflow's plan covers: made by hand, or left over. Nobody would ever say why they do not move.

A Workflow that was deleted takes its TaskRuns with it, and a watch may be behind, so one has to be seen twice, the
grace apart, before it is told; it is told once, and never changed otherwise.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Never

from torpor_api.clock import Clock
from torpor_api.taskrun import TaskRun
from torpor_api.workflow import Workflow
from torpor_wire import keys, paths
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator import grouping
from torpor_operator.apply import Applier
from torpor_operator.observe import Observer
from torpor_operator.queue import Key

_AT_ONCE = 100


class Strays:
    """Looks for them for as long as this replica leads; `grace` is in seconds."""

    def __init__(self, observer: Observer, clock: Clock, grace: float) -> None:
        self._observer = observer
        self._clock = clock
        self._grace = grace

    async def run(self, applier: Applier) -> Never:
        """Say on each stray why nothing is done for it, for ever; after a crowd of them the rest have to wait."""
        seen, told = set[str](), set[str]()
        while True:
            await self._clock.sleep(self._grace)
            found = {run.metadata.uid: run for run in self._strays()}
            told &= found.keys()
            for uid in list(islice((uid for uid in found if uid in seen - told), _AT_ONCE)):
                await applier.tell(found[uid], Reason.UNOWNED, self._why(found[uid]))
                told.add(uid)
            seen = set(found)

    def _strays(self) -> Iterator[TaskRun]:
        covered: set[str] = set()
        for workflow in self._observer.workflows.values():
            depths = _depths(workflow)
            own = self._observer.taskruns.store.indexed(workflow.metadata.uid)
            covered.update(run.metadata.uid for run in own if depths.get(run.spec.task) == len(run.spec.frame))
        for run in self._observer.taskruns.store.values():
            if run.metadata.uid not in covered and _is_open(run):
                yield run

    def _why(self, run: TaskRun) -> str:
        asked, task = run.spec.workflow, run.spec.task
        held = self._observer.workflows.get(Key(run.metadata.namespace, asked.name))
        if held is None:
            trouble = f"there is no Workflow {asked.name} in this namespace"
        elif held.metadata.uid != asked.uid:
            trouble = f"Workflow {asked.name} is another one now, with uid {held.metadata.uid}"
        elif all(one.name != task for one in held.spec.tasks):
            trouble = f"Workflow {asked.name} has no task {task}"
        elif (depth := _depths(held)[task]) != len(run.spec.frame):
            trouble = f"task {task} of Workflow {asked.name} stands in {depth} groups, this in {len(run.spec.frame)}"
        else:
            which = paths.written(run.spec.path) or str(keys.UNMAPPED)
            trouble = f"the instance {task}/{which} of Workflow {asked.name} has another name"
        return f"{trouble}, so nothing is done for this TaskRun: delete it"


def _depths(workflow: Workflow) -> Mapping[str, int]:
    """How many groups each task stands in; where the groups cannot be, nothing runs but what somebody made."""
    try:
        return {task: len(chain) for task, chain in grouping.chains(workflow.spec).items()}
    except grouping.GroupingError:
        return dict.fromkeys((task.name for task in workflow.spec.tasks), 0)


def _is_open(run: TaskRun) -> bool:
    ended = run.status.state in TERMINAL or run.metadata.deletion_timestamp is not None
    return not ended and run.status.reason != Reason.UNOWNED

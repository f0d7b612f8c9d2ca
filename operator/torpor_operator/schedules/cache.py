"""The Schedules, and what the plan of each reads: the TaskRuns of its sources and its runs."""

from collections.abc import Callable, Mapping

from torpor_crds.models import schedule as schedules
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.cache.store import Unreadable
from torpor_kubernetes.client.resources import SCHEDULES

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.reflected_objects import ReflectedObjects
from torpor_operator.controller.workqueue import Key, WorkQueue, owner_key
from torpor_operator.model.actions import Need
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import Answer
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot


class ScheduleCache:
    """Schedules from a reflector, TaskRuns and runs from the cluster's cache.

    It enqueues a Schedule when the Schedule, a run or the TaskRun of a source has changed.
    """

    def __init__(self, context: ControllerContext, queue: WorkQueue) -> None:
        self._context = context
        self._cluster = context.cluster
        self._queue = queue
        self._followers: list[Callable[[Key], None]] = []
        self.objects = ReflectedObjects(context, SCHEDULES, schedules.parse, self._enqueue)
        context.cluster.subscribe(self)

    def follow(self, follower: Callable[[Key], None]) -> None:
        """Call `follower` with the key of each Schedule that changes, or an object of which does."""
        self._followers.append(follower)

    def find(self, key: Key) -> Schedule | Unreadable | None:
        """The Schedule, why it cannot be read, or None if it does not exist."""
        return self.objects.find(key)

    def snapshot(self, key: Key, known: Mapping[Need, Answer], refused: Mapping[str, str]) -> ScheduleSnapshot | None:
        """The Schedule and its objects, or None if there is no such Schedule, or it cannot be read."""
        schedule = self.find(key)
        if schedule is None or isinstance(schedule, Unreadable):
            return None
        uid = schedule.metadata.uid
        return ScheduleSnapshot(
            schedule=schedule,
            taskruns={run.spec.task: run for run in self._cluster.taskruns_of(key, uid) if run.spec.schedule},
            runs=tuple(
                run
                for run in self._cluster.runs_of(uid)
                if run.metadata.namespace == key.namespace and run.spec.run_of and run.spec.run_of.backfill is None
            ),
            known=known,
            settings=self._context.settings,
            now=self._context.api.clock.now(),
            pools=self._context.triggerer_pools.get,
            archives=self._context.archive.endpoint() is not None,
            not_ready=self._context.namespaces.why_not_ready(key.namespace),
            refused=refused,
        )

    def on_workflow(self, key: Key, workflow: Workflow | None) -> None:
        """Enqueue the Schedule that started it."""
        if workflow is not None and (run_of := workflow.spec.run_of) is not None:
            self._enqueue(Key(key.namespace, run_of.schedule))

    def on_workflow_dropped(self, key: Key, workflow: Workflow | None) -> None:
        """Enqueue the Schedule that started it."""
        self.on_workflow(key, workflow)

    def on_taskrun(self, taskrun: TaskRun, former: TaskRun | None) -> None:  # noqa: ARG002
        """Enqueue the Schedule of which it is a source."""
        self.on_taskrun_dropped(taskrun)

    def on_taskrun_dropped(self, taskrun: TaskRun) -> None:
        """Enqueue the Schedule of which it was a source."""
        if taskrun.spec.schedule is not None:
            self._enqueue(owner_key(taskrun))

    def on_pod(self, taskrun: TaskRun, pod: Pod | None, former: Pod | None) -> None:
        """Ignore it: sources have no pods."""

    def on_orphaned_pod(self, pod: Pod) -> None:
        """Ignore it."""

    def _enqueue(self, key: Key) -> None:
        self._queue.add(key)
        for follower in self._followers:
            follower(key)

"""One live run as one identity may read it: its Workflow, its TaskRuns and its pods.

TaskRuns are watched by the label of their run: of 60,000 TaskRuns in a namespace this process holds those of the runs
that somebody looks at.
"""

import asyncio
import random
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Never

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS, Resource
from torpor_views.facts import Facts, PodFacts
from torpor_views.instance import InstanceView
from torpor_views.model import RunView
from torpor_wire import constants, names

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.feeds.change_log import ChangeLog
from torpor_ui.feeds.facts import RunFacts
from torpor_ui.feeds.feed import FATAL, WATCH_SECONDS, Feed
from torpor_ui.feeds.previous_run import find_previous
from torpor_ui.feeds.shared_objects import SharedObjects
from torpor_ui.presentation import instances, overview, run_page, run_rows
from torpor_ui.presentation.frames import Frame
from torpor_ui.presentation.instances import CachedInstance
from torpor_ui.presentation.run_page import RunPage

INSTANCES_MAX = 50_000
"""TaskRuns of one run that are shown."""
CALM = 10.0
"""The page is computed again after this many times what its last computation took."""
AGAIN_SECONDS = 5.0
OVERVIEW_SECONDS = 4.0

InstanceName = tuple[str, str]
"""The name of a TaskRun, and what the page calls it."""


class _Pace:
    """How often something is computed: not before `seconds`, and not before `CALM` times what it took last."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = float("-inf")
        self._next = float("-inf")

    @property
    def due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._next

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        self._next = now + max(self._seconds, (now - self._began) * CALM)


class RunFeed(Feed):
    """A run. `page` has everything but the instances; `log` says which of these have changed."""

    def __init__(self, caller: Caller, namespace: str, name: str, shared: SharedObjects[CachedInstance]) -> None:
        super().__init__()
        api = caller.api
        self.namespace = namespace
        self.name = name
        self.log: ChangeLog[InstanceName] = ChangeLog()
        self.page: RunPage | None = None
        self.gone = False
        """The Workflow was deleted."""
        self._caller = caller
        self._workflows = self._reflector(WORKFLOWS, dict, fields=f"metadata.name={name}")
        labels = f"{constants.LABEL_WORKFLOW}={names.label(name)}"
        self._taskruns = self._reflector(TASKRUNS, shared.parse, labels=labels)
        self._pods = self._reflector(PODS, PodFacts.parse, labels=labels)
        self._facts = RunFacts(api, namespace)
        self._previous: str | None = None
        self._overview: Mapping[str, Any] = {}
        self._page_pace = _Pace(0.0)
        self._overview_pace = _Pace(OVERVIEW_SECONDS)

    @property
    def outdated(self) -> bool:
        """Whether the run was deleted, and another one may have its name."""
        return self.gone

    @property
    def workflow(self) -> Mapping[str, Any] | None:
        """The Workflow; None if there is none."""
        return self._workflows.store.get(self.namespace, self.name)

    def instance(self, name: str) -> CachedInstance | None:
        """Return an instance of this run by the name of its TaskRun."""
        found = self._taskruns.store.get(self.namespace, name)
        return found if found is not None and found.view.workflow_uid in {"", self._uid} else None

    def all_instances(self) -> list[CachedInstance]:
        """Return all instances of this run, in the order of tasks and paths."""
        known = {"", self._uid}
        own = [each for each in self._taskruns.store.values() if each.view.workflow_uid in known]
        return sorted(own, key=lambda each: (each.view.task, each.view.path))

    def nodes(self) -> Mapping[str, str]:
        """Return the nodes of the pods of this run."""
        return {pod.name: pod.node for pod in self._pods.store.values() if pod.node}

    def frame(self) -> Frame:
        """Return the state that viewers are sent. Raises ProblemError before the feed is ready."""
        if self.page is None:
            raise errors.unavailable("the run is not read yet")
        return Frame(page=self.page, nodes=self.nodes(), more=self._overview)

    async def run(self) -> RunView:
        """Return the run with its instances, as of now. Raises ProblemError if it does not exist."""
        workflow = self.workflow
        if workflow is None:
            remedy = "It may be archived: search for its name in the list of runs."
            raise errors.not_found(f"there is no run {self.name} in namespace {self.namespace}", remedy)
        return await asyncio.to_thread(_view, workflow, [each.view for each in self._taskruns.store.values()])

    def facts(self) -> Facts:
        """Return what causes need beside the run, as of now."""
        pods = list(self._pods.store.values()) if self._pods.synced.is_set() else None
        return self._facts.facts(pods)

    async def ready(self) -> None:
        """Wait for the first lists, and for the page."""
        await self._workflows.synced.wait()
        await self._taskruns.synced.wait()
        if self.page is None:
            await self.run()  # raises if there is none
            await self._compute()

    def _work(self) -> list[Coroutine[Any, Any, Never]]:
        return [self._workflows.run(), self._taskruns.run(), self._watch_pods(), self._compute_again()]

    async def _watch_pods(self) -> Never:
        """Watch the pods. Without the right to, the causes are less precise."""
        try:
            await self._pods.run()
        except api_errors.ApiError:
            await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def before_wake(self) -> None:
        """Compute the page, unless that would take too much of the time."""
        if self.page is not None:
            await self._compute()

    async def _compute_again(self) -> Never:
        """Compute the page where nothing changes: causes depend on the time, and facts are read slowly."""
        await self.ready()
        workflow = self.workflow
        if workflow is not None:
            row = run_rows.live(workflow)
            self._previous = await find_previous(self._caller.api, self._caller.archive, row)
        while True:
            self.changed.set()
            await asyncio.sleep(AGAIN_SECONDS)
            if self.workflow is not None:
                await self._facts.renew(await self.run())

    async def _compute(self) -> None:
        if self.workflow is None:
            self.gone = True
            return
        if not self._page_pace.due:
            return
        with self._page_pace:
            run = await self.run()
            self.page = await asyncio.to_thread(run_page.build, run, self.facts(), previous=self._previous)
        if self._overview_pace.due:
            with self._overview_pace:
                self._overview = await asyncio.to_thread(overview.build, run, self.all_instances())

    @property
    def _uid(self) -> str | None:
        workflow = self.workflow
        return workflow["metadata"].get("uid") if workflow else None

    def _reflector(self, resource: Resource, parse: Any, *, fields: str = "", labels: str = "") -> "Reflector[Any]":
        return Reflector(
            self._caller.api,
            resource,
            parse,
            on_change=self._record_instance if resource is TASKRUNS else self._record,
            jitter=random.random,
            namespaces=(self.namespace,),
            field_selector=fields,
            label_selector=labels,
            watch_seconds=WATCH_SECONDS,
            fatal=FATAL,
        )

    def _record(self, _notice: Notice[Any]) -> None:
        self.changed.set()

    def _record_instance(self, notice: Notice[CachedInstance]) -> None:
        item = None if isinstance(notice, Unreadable) else notice.item or notice.previous
        if item is not None:
            self.log.record((notice.name, item.key))
            self.changed.set()
        if len(self._taskruns.store) > INSTANCES_MAX:
            self.close(errors.too_large(f"the run has more than {INSTANCES_MAX} TaskRuns", "Use `torpor get`."))


def _view(workflow: Mapping[str, Any], instances_of_run: Sequence[InstanceView]) -> RunView:
    """Return a run with its instances. Of 10,000, this takes more time than an event loop may be blocked for."""
    return RunView.parse(workflow, now=time.time()).with_instances(instances_of_run)


def shared_instances() -> SharedObjects[CachedInstance]:
    """Return the instances that the feeds of all identities share."""
    return SharedObjects(instances.parse)

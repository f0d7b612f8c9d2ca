"""Plays a Workflow on this machine: the shipped components around an API server in memory, in one event loop."""

import asyncio
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Never

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import (
    CLUSTER_TEMPLATES,
    CONFIG_MAPS,
    EVENTS,
    PODS,
    TASKRUNS,
    TEMPLATES,
    WORKFLOWS,
    Resource,
)
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Outcome as TriggerOutcome
from torpor_wire import constants

from torpor_local import archive_socket, author_metrics, controllers, journal, outcome, waits
from torpor_local.apiserver.history import ObjectChange, cloned, collection
from torpor_local.apiserver.objects import DeniedError
from torpor_local.apiserver.server import ApiServer
from torpor_local.clock import SkippableClock
from torpor_local.controllers import Controllers
from torpor_local.folder import RunFolder, archive_file, has_run, logging_to
from torpor_local.given_answers import GivenAnswers
from torpor_local.journal import Journal, SavedRun
from torpor_local.options import LocalRunError, LocalRunOutcome, Object, Options, RunObserver
from torpor_local.pods import program, worker_socket
from torpor_local.pods.kubelet import HostMachine, ProcessKubelet

NAMESPACE = "default"
_QUIET_SECONDS = 0.03
_CREATABLE = {resource.kind: resource for resource in (CONFIG_MAPS, TEMPLATES, CLUSTER_TEMPLATES, WORKFLOWS)}
_ORDER = tuple(_CREATABLE)
_OBSERVED = {collection(resource): resource.kind for resource in (WORKFLOWS, TASKRUNS)}
_KEPT = (WORKFLOWS, TASKRUNS, PODS, EVENTS)


async def play(documents: Sequence[Mapping[str, Any]], options: Options, observer: RunObserver) -> LocalRunOutcome:
    """Create the documents and return when their Workflow has ended.

    A cancellation, as by Ctrl-C, cancels the run as `torpor cancel` does, and returns its outcome; a second one ends
    at once. Raises LocalRunError if the run cannot start.
    """
    ended = await Engine(documents, options, observer).run()
    return await outcome.with_archived(ended, archive_file(options.folder))


class Engine:
    """One local run."""

    def __init__(self, documents: Sequence[Mapping[str, Any]], options: Options, observer: RunObserver) -> None:
        self._documents = documents
        self._options = options
        self._observer = observer
        self._clock = SkippableClock()
        self._server = ApiServer(self._clock)
        self._server.objects.graceful_pods = self._server.objects.nodes = True
        self._server.objects.new_uid = lambda _: str(uuid.uuid4())
        self._server.objects.new_suffix = lambda _: uuid.uuid4().hex[:5]
        self._answers = GivenAnswers(options.answers, self._server)
        self._ended = asyncio.Event()
        self._workflow: tuple[str, str] | None = None
        self._last_seen: Object = {}

    async def run(self) -> LocalRunOutcome:
        """Play the run to its end. Raises LocalRunError."""
        with RunFolder.open(self._options.folder) as folder, logging_to(folder.path / "engine.log"):
            saved = self._read(folder)
            async with AsyncExitStack() as stack:
                recorded = stack.enter_context(Journal.open(folder.journal))
                kubelet = ProcessKubelet(self._server, self._clock, self._host(folder))
                stack.push_async_callback(kubelet.stop)
                self._server.history.on_change = partial(self._changed, recorded, kubelet)
                api = Api(self._server, self._clock)
                await stack.enter_async_context(archive_socket.serve(api, folder.archive_socket, folder.archive))
                await stack.enter_async_context(worker_socket.serve(self._server, folder.socket))
                if saved is None:
                    recorded.workflow(*self._create_documents())
                else:
                    await self._restore(saved, kubelet)
                pools = _pools(
                    [each for kind in (WORKFLOWS, TEMPLATES, CLUSTER_TEMPLATES) for each in self._server.all(kind)]
                )
                running = await stack.enter_async_context(
                    controllers.start(api, pools, self._options.triggers, self._answer)
                )
                if self._options.skip_time:
                    skipper = asyncio.create_task(self._skip_time(recorded, kubelet, running))
                    stack.callback(skipper.cancel)
                answering = asyncio.create_task(self._answers.run(running.evaluator))
                stack.callback(answering.cancel)
                try:
                    await self._until_end(running, answering)
                    return await self._outcome(running)
                except LocalRunError as error:  # raised below: a task group would put it into an ExceptionGroup
                    kubelet.kill()
                    problem = error
                except BaseException:
                    kubelet.kill()
                    raise
            raise problem

    def cancel(self) -> None:
        """Cancel the run: its tasks and waits end, without hooks."""
        if self._workflow is not None:
            self._server.edit(WORKFLOWS, *self._workflow, {"spec": {"cancel": True}})

    async def _until_end(self, running: Controllers, answering: "asyncio.Task[Never]") -> None:
        """Wait for the end of the run. Raises the error of a controller that ended, or of an answer."""
        ended = asyncio.create_task(self._ended.wait())
        waits: tuple[asyncio.Future[Any], ...] = (ended, running.failed, answering)
        try:
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None:
                    task.uncancel()
                self.cancel()
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if answering.done():
            answering.result()
        if running.failed.done():
            raise LocalRunError("a controller ended by a bug; see engine.log") from running.failed.exception()

    def _answer(self, wait: TriggerWait) -> TriggerOutcome | None:
        taskrun = self._server.get(TASKRUNS, wait.namespace, wait.name)
        return None if taskrun is None else waits.answer(self._options.events, taskrun) or waits.unsent(taskrun)

    async def _skip_time(self, recorded: Journal, kubelet: ProcessKubelet, running: Controllers) -> None:
        """Skip to the next moment whenever nothing but time can change the run, and nothing has changed for a while."""
        seen = -1
        while True:
            await asyncio.sleep(_QUIET_SECONDS)
            version, seen = seen, self._server.history.version
            if seen != version or not kubelet.idle:
                continue
            moment = waits.next_moment(
                self._server.all(TASKRUNS),
                self._server.all(WORKFLOWS),
                waits_at=running.next_moment(),
                waits=running.waits,
            )
            if moment is not None and moment > self._clock.now():
                self._clock.skip_to(moment)
                recorded.offset(self._clock.offset)

    def _read(self, folder: RunFolder) -> SavedRun | None:
        """Return the run to resume, None to begin one. Raises LocalRunError."""
        saved = journal.read(folder.journal)
        if saved is None and self._options.resume:
            raise LocalRunError(f"the folder {folder.path} has no run to resume")
        if saved is not None and not self._options.resume:
            raise LocalRunError(has_run(folder.path))
        for pod in saved.of_kind(PODS.kind) if saved is not None else ():
            if program.is_of_earlier_version(pod) and "nodeName" not in pod["spec"]:
                raise LocalRunError(
                    f"the run in {folder.path} is of an earlier version, and this one cannot start its pod "
                    f"{pod['metadata']['name']}: resume it with that version, or start a new run"
                )
        return saved

    async def _restore(self, saved: SavedRun, kubelet: ProcessKubelet) -> None:
        """Go on with the objects of a killed run."""
        self._workflow = saved.workflow
        self._clock.offset = saved.offset
        self._server.history.restore(saved.objects, saved.version)
        for address, item in saved.objects.items():
            self._report(address.kind, item)
        await kubelet.adopt()

    def _create_documents(self) -> tuple[str, str]:
        """Create the documents, the Workflow last. Raises LocalRunError."""
        waits.check_events({**self._options.events, **self._options.answers}, _task_names(self._documents))
        for document in sorted(self._documents, key=_order):
            resource = _resource(document)
            namespace = str((document.get("metadata") or {}).get("namespace") or NAMESPACE)
            namespace = namespace if resource.namespaced else ""
            try:
                created = self._server.create(resource, namespace, cloned(dict(document)))
            except DeniedError as error:
                raise LocalRunError(f"{resource.kind}: {error}") from error
            if resource is WORKFLOWS:
                self._workflow = namespace, created["metadata"]["name"]
        if self._workflow is None:
            raise LocalRunError("the documents have no Workflow")
        return self._workflow

    def _changed(self, recorded: Journal, kubelet: ProcessKubelet, entry: ObjectChange) -> None:
        recorded.change(entry)
        kubelet.observe(entry)
        if entry.after is not None:
            self._report(entry.address.kind, entry.after)

    def _report(self, collection_path: str, item: Object) -> None:
        kind = _OBSERVED.get(collection_path)
        if kind is None:
            return
        self._observer.changed(kind, item)
        if kind == TASKRUNS.kind:
            self._answers.observe(item)
        if kind == WORKFLOWS.kind and "parent" not in item["spec"]:  # a run that a task started ends with its task
            self._last_seen = item
            if outcome.has_ended(item) and not outcome.has_pending_notifications(item):
                self._ended.set()

    def objects(self, kind: str) -> Sequence[Object]:
        """Return all Workflows, TaskRuns, Pods or Events at present."""
        return next(self._server.all(resource) for resource in _KEPT if resource.kind == kind)

    async def _outcome(self, running: Controllers) -> LocalRunOutcome:
        objects = {resource.kind: self._server.all(resource) for resource in _KEPT}
        # The Workflow may be gone: spec.ttlAfterFinished can be 0.
        ended = outcome.build(self._last_seen, objects)
        taskruns = outcome.taskruns(ended.workflow, objects)
        return replace(ended, metrics=await author_metrics.lines(ended.workflow, taskruns, running.evaluator))

    def _host(self, folder: RunFolder) -> HostMachine:
        options = self._options
        return HostMachine(
            python=options.python,
            jobs=options.jobs,
            working_directory=options.working_directory or Path.cwd(),
            logs=folder.logs,
            scratch=folder.pods,
            packages=folder.packages,
            socket=folder.socket,
            archive=folder.archive_socket,
            environ=os.environ.copy(),
        )


def _order(document: Mapping[str, Any]) -> int:
    return _ORDER.index(_resource(document).kind)


def _resource(document: Mapping[str, Any]) -> Resource:
    resource = _CREATABLE.get(str(document.get("kind")))
    if resource is None:
        raise LocalRunError(f"a local run plays {', '.join(_CREATABLE)}, and not {document.get('kind')}")
    return resource


def _task_names(documents: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of all tasks of Workflows and templates."""
    return {str(task.get("name")) for spec in _specs(documents) for task in spec.get("tasks") or ()}


def _specs(documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the specs of Workflows, and those in templates."""
    specs = [document.get("spec") or {} for document in documents]
    return [spec.get("workflow") or spec for spec in specs if isinstance(spec, Mapping)]


def _pools(documents: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the triggerer pools that Workflows and their tasks name."""
    specs = _specs(documents)
    tasks = [task for spec in specs for task in spec.get("tasks") or ()]
    named = {part.get("triggerPool") for part in (*specs, *tasks) if isinstance(part, Mapping)}
    return {constants.DEFAULT_POOL, *(str(pool) for pool in named if pool)}

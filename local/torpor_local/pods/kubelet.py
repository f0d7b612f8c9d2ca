"""Runs the pods of TaskRuns as processes of this machine and writes their status, as scheduler and kubelet do.

It leaves gates, finalizers and TaskRuns alone. At most `jobs` processes run; further pods stay Pending.
"""

import asyncio
import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torpor_kubernetes.client.resources import CONFIG_MAPS, PODS
from torpor_wire import constants

from torpor_local.apiserver.history import ObjectChange, collection
from torpor_local.apiserver.objects import ObjectRegistry
from torpor_local.apiserver.server import ApiServer
from torpor_local.clock import SkippableClock
from torpor_local.pods import locks, process, program, status, task_files, variables, wrapper
from torpor_local.pods.container_outputs import EndedContainer
from torpor_local.pods.files import MissingSourceError, PodFiles
from torpor_local.pods.locks import PodLock
from torpor_local.pods.process import PodProcess
from torpor_local.pods.program import InvalidImageError, MissingToolError, PodProgram
from torpor_local.pods.task_files import FileError, LocalTaskFiles

NODE = "local"
_EXIT_SECONDS = 10.0
"""How long a process may take to exit after the end of the run, if its pod sets no other limit."""
_REMOVAL_SECONDS = 30.0
_CANNOT_START = 128
_KILLED = "the process of the local run was killed"
_LOG = logging.getLogger(__name__)

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMachine:
    """This machine, as pods see it.

    `packages` is the folder with the worker's packages; `socket` and `archive` are the sockets of the API server and of
    the archive.
    """

    python: str
    jobs: int
    working_directory: Path
    logs: Path
    scratch: Path
    packages: Path
    socket: Path
    archive: Path
    environ: Mapping[str, str]
    container_tool: str | None = field(
        default_factory=lambda: next(filter(None, map(shutil.which, program.CONTAINER_TOOLS)), None)
    )


@dataclass(slots=True, kw_only=True, eq=False)
class _RunningPod:
    pod: Object
    process: PodProcess | None = None
    deleting: bool = False

    def is_deleting(self) -> bool:
        """Whether it is to end; that may change at any await."""
        return self.deleting

    @property
    def address(self) -> tuple[str, str]:
        return self.pod["metadata"]["namespace"], self.pod["metadata"]["name"]

    @property
    def uid(self) -> str:
        return str(self.pod["metadata"]["uid"])


class ProcessKubelet:
    """The only node."""

    def __init__(self, server: ApiServer, clock: SkippableClock, host: HostMachine) -> None:
        self._server = server
        self._clock = clock
        self._host = host
        self._slots = asyncio.Semaphore(host.jobs)
        self._pods: dict[str, _RunningPod] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Whether no pod runs or is about to."""
        return not self._pods

    def observe(self, entry: ObjectChange) -> None:
        """Note a change, as a watch would report it."""
        if entry.address.kind != collection(PODS):
            return
        if entry.after is None:
            self._vanished((entry.before or {})["metadata"]["uid"])
            return
        running = self._pods.get(entry.after["metadata"]["uid"])
        deleting = "deletionTimestamp" in entry.after["metadata"]
        if running is not None and deleting and not running.deleting:
            running.deleting = True
            if running.process is not None:
                running.process.stop(float(entry.after["metadata"].get("deletionGracePeriodSeconds") or 0))
        elif running is None and not deleting and _is_startable(entry.after):
            self._begin(_RunningPod(pod=entry.after))

    async def adopt(self) -> None:
        """Take over the pods of a run whose process was killed, and with it theirs.

        A pod that had started counts as lost with its node, so the operator starts its segment again in a new pod.
        """
        locks.kill_survivors(self._host.scratch)
        for pod in self._server.all(PODS):
            running = _RunningPod(pod=pod)
            if "nodeName" in pod["spec"] and pod["status"].get("phase") in {"Pending", "Running"}:
                await self._remove_container(pod)
            if "deletionTimestamp" in pod["metadata"]:
                self._server.delete(PODS, *running.address, {"gracePeriodSeconds": 0})
            elif _is_startable(pod):
                self._begin(running)
            elif "nodeName" in pod["spec"] and pod["status"].get("phase") in {"Pending", "Running"}:
                self._write(running, {"status": status.disrupted(_KILLED, self._clock.now())})

    async def stop(self) -> None:
        """Start no further pod, send SIGTERM to the others and wait for them. A cancellation kills them."""
        for running in self._pods.values():
            running.deleting = True
            if running.process is not None:
                running.process.stop(_EXIT_SECONDS)
        ending = asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            self.kill()
            await ending
            raise

    def kill(self) -> None:
        """Send SIGKILL to all processes."""
        for running in self._pods.values():
            if running.process is not None:
                running.process.kill()

    def _begin(self, running: _RunningPod) -> None:
        self._pods[running.uid] = running
        task = asyncio.get_running_loop().create_task(self._run(running))
        self._tasks.add(task)
        task.add_done_callback(partial(self._finished, running))

    def _finished(self, running: _RunningPod, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._pods.pop(running.uid, None)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("pod %s: unexpected error", running.address[1], exc_info=task.exception())
            failed = status.terminated(running.pod, _CANNOT_START, "Error", repr(task.exception()), self._clock.now())
            self._write(running, {"status": failed})

    def _vanished(self, uid: str) -> None:
        running = self._pods.get(uid)
        if running is not None:
            running.deleting = True
            if running.process is not None:
                running.process.kill()

    async def _run(self, running: _RunningPod) -> None:
        async with self._slots:
            if running.is_deleting():
                return
            self._write(running, {"spec": {"nodeName": NODE}})
            with PodLock.create(self._host.scratch, running.uid) as lock:
                ended = await self._process(running, lock)
        self._write(running, {"status": ended})
        if running.is_deleting() and self._current(running):
            self._server.delete(PODS, *running.address, {"gracePeriodSeconds": 0})

    async def _process(self, running: _RunningPod, lock: PodLock) -> Object:
        """Run the process of a pod to its end and return the status of the pod."""
        pod, host = running.pod, self._host
        files = PodFiles.of_pod(running.address[1], running.uid, logs=host.logs, scratch=host.scratch)
        read = partial(self._server.get, CONFIG_MAPS, pod["metadata"]["namespace"])
        task = task_files.of_pod(pod, host.scratch / f"{running.uid}.files")
        try:
            files.create()
            await asyncio.to_thread(task_files.fetch, task, pod, host.archive, read, host.environ)
            started = self._program(pod, files, task)
            inherited = variables.inherited(host.environ)
            running.process = await process.start(
                started.argv,
                {**inherited, **started.own},
                log=files.log,
                folder=host.working_directory,
                lock=lock,
                kept=wrapper.OUTPUT_MAX + 1 if started.wrapped.stdout else 0,
            )
        except (OSError, MissingToolError, InvalidImageError, MissingSourceError) as error:
            message = str(error)
            files.log.write_text(f"torpor: {message}\n")
            return status.terminated(pod, _CANNOT_START, "ContainerCannotRun", message, self._clock.now())
        except FileError as error:
            files.log.write_text(f"torpor: {error}\n")
            return status.not_fetched(str(error), self._clock.now())
        try:
            return await self._end(running, running.process, started, files, task)
        except BaseException:
            await self._abandon(running.process, pod)
            raise
        finally:
            await asyncio.to_thread(task.remove)

    async def _end(
        self, running: _RunningPod, started: PodProcess, run: PodProgram, files: PodFiles, task: LocalTaskFiles
    ) -> Object:
        """Wait for the end of a process and return the status of its pod."""
        pod = running.pod
        if running.is_deleting():  # meanwhile
            started.stop(_EXIT_SECONDS)
        self._write(running, {"status": status.running(pod, self._clock.now())})
        code = await started.wait()
        message = files.termination_message(code)
        if code == 0 and run.is_container and (run.wrapped.has_result or task.outputs):
            ended = EndedContainer(
                pod=pod,
                wrapped=run.wrapped,
                files=files,
                task=task,
                tool=self._host.container_tool or "",
                archive=self._host.archive,
                output=await started.output() if run.wrapped.stdout else b"",
            )
            code, message = await ended.report(message)
        if code < 0 or run.wrapped.file is not None or (run.is_container and task.outputs):
            await self._remove_container(pod)
        files.remove()
        if run.is_container and program.could_not_start(code, message):
            return status.terminated(pod, code, "ContainerCannotRun", message, self._clock.now())
        return status.ended(pod, code, message, self._clock.now())

    async def _abandon(self, started: PodProcess, pod: Object) -> None:
        """Kill a process that nothing observes any longer: it would go on after the run."""
        started.kill()
        await started.wait()
        await self._remove_container(pod)

    async def _remove_container(self, pod: Object) -> None:
        """Remove the container of a pod whose client was killed, if it has one."""
        tool = self._host.container_tool
        if tool is None or program.is_python(pod):
            return
        try:
            await process.run(program.removal(pod, tool), _REMOVAL_SECONDS)
        except OSError as error:  # also a timeout
            _LOG.warning("container %s cannot be removed: %s", program.container_name(pod), error)

    def _program(self, pod: Object, files: PodFiles, task: LocalTaskFiles) -> PodProgram:
        read = partial(self._server.get, CONFIG_MAPS, pod["metadata"]["namespace"])
        own = variables.environment(pod, read)
        if files.write_source(pod, read):
            own[constants.ENV_SOURCE] = str(files.source)
        if not program.is_python(pod):
            scripts = str(files.scripts) if files.write_scripts(wrapper.scripts(pod)) else None
            return program.container(pod, self._host.container_tool, own, str(files.message), scripts, task.mounts)
        own |= {
            constants.ENV_API: f"unix:{self._host.socket}",
            constants.ENV_ARCHIVE_URL: f"unix:{self._host.archive}",
            constants.ENV_POD_UID: pod["metadata"]["uid"],
            constants.ENV_CLOCK_OFFSET: repr(self._clock.offset),
            program.ENV_TERMINATION_LOG: str(files.message),
            **task.variables(),
        }
        return program.python(self._host.python, str(self._host.packages), own)

    def _current(self, running: _RunningPod) -> bool:
        pod = self._server.history.get(ObjectRegistry.address(PODS, *running.address))
        return pod is not None and pod["metadata"]["uid"] == running.uid

    def _write(self, running: _RunningPod, merge: Object) -> None:
        if self._current(running):
            self._server.edit(PODS, *running.address, merge)


def _is_startable(pod: Object) -> bool:
    """Whether a scheduler would bind it now."""
    pending = (pod.get("status") or {}).get("phase", "Pending") == "Pending"
    return pending and not pod["spec"].get("schedulingGates") and "nodeName" not in pod["spec"]

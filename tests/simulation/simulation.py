"""Plays one seed: processes, faults, user actions, and the final checks.

`play` runs it all. Faults stop at a random time; afterwards every run must end within a bound, and nothing may be left
over.
"""

import asyncio
import contextlib
import gc
import itertools
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torpor_kubernetes.client.lease import LeaseLost
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_kubernetes.client.transport import Response
from torpor_local.apiserver.history import ObjectChange, collection
from torpor_local.apiserver.server import ApiRequest

from tests.simulation import trace
from tests.simulation.actors import controllers
from tests.simulation.actors.api_server import SimulatedApiServer
from tests.simulation.actors.archive import SimulatedArchive
from tests.simulation.actors.nodes import SimulatedNodes
from tests.simulation.actors.receiver import SimulatedReceiver
from tests.simulation.actors.tasks import Pods
from tests.simulation.actors.worker import silence_logs
from tests.simulation.checks import final_state
from tests.simulation.checks.archival import ArchivalChecker
from tests.simulation.checks.child_runs import ChildRunChecker
from tests.simulation.checks.containers import ContainerChecker
from tests.simulation.checks.invariants import InvariantChecker, Violation
from tests.simulation.checks.marks import MarkChecker
from tests.simulation.checks.notifications import NotificationChecker
from tests.simulation.checks.schedules import ScheduleChecker
from tests.simulation.loop import HotLoopError, VirtualLoop
from tests.simulation.process import Process
from tests.simulation.scenarios import disruptions, fault_moments, marks, population, random_schedules
from tests.simulation.scenarios.faults import FaultProfile, RandomFaults

BOUND = 300.0
"""Seconds after the last fault within which every run must end."""
REST = 25.0
"""Further seconds for cleanup: lingering pods, orphans and TTLs. They begin again when a TTL removes a Workflow."""
_SAME_NAME = 0.6
_GRACE = 30.0

Main = Callable[[SimulatedApiServer, Process, random.Random], Coroutine[Any, Any, None]]


@dataclass(slots=True, kw_only=True)
class Result:
    """The result of a seed."""

    seed: int
    violation: Violation | None
    checks: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    requests: int = 0
    moment: float = 0.0
    executions: int = 0
    kinds: frozenset[str] = frozenset()
    seconds: float = 0.0  # of a core


class Simulation:
    """All processes and state of a seed."""

    def __init__(
        self, seed: int, say: Callable[[str], None] | None = None, kinds: frozenset[str] | None = None
    ) -> None:
        self.seed, self.say = seed, say
        self.scheduled = random_schedules.FIRST_SEED <= seed < marks.FIRST_SEED
        self.rng = random.Random(seed)
        self.fault_profile = FaultProfile.draw(self.rng)
        if kinds is not None:
            self.fault_profile.kinds, self.fault_profile.rate = kinds, 2.0
        self.loop = VirtualLoop(random.Random(self.rng.getrandbits(32)))  # type: ignore[abstract]
        self.faults = RandomFaults(self.fault_profile, random.Random(self.rng.getrandbits(32)))
        self.faults.slow_deletions = self.scheduled
        self.server, self.checker = SimulatedApiServer(self.loop, self.faults), InvariantChecker()
        self.fake = self.server.fake
        self.checker.creations.prompt = "late" not in self.fault_profile.kinds
        self.checker.creations.ordered = not self.fault_profile.kinds & {"late", "stale"}
        self.checker.order.ordered = self.checker.creations.ordered
        self.nodes = SimulatedNodes(self.server, random.Random(self.rng.getrandbits(32)), self.checker)
        self.checker.running_pods = self.nodes.running_pods
        self.nodes.lingering = 8.0 if "slow" in self.fault_profile.kinds else 2.2
        self.archive = SimulatedArchive(self.loop, seed, self.fault_profile.until)
        self.archive.install(self.fake, controllers.SYSTEM)
        self.receiver = SimulatedReceiver(loop=self.loop, rng=random.Random(seed), until=self.fault_profile.until)
        self.person = Process(self.loop, "person", "person")
        self.controllers: dict[str, Process] = {}
        self.gone: set[str] = set()  # replaced replicas
        self.requests, self.expected, self.removed = 0, 0, 0.0  # removed: when the last Workflow was
        self._restart: dict[str, Callable[[float | None], None]] = {}
        self.schedules, self.containers = ScheduleChecker(self), ContainerChecker(self)
        self.child_runs, self.notifications = ChildRunChecker(self), NotificationChecker(self)
        self.server.observers += [self.checker.changed, self.archive.observe, ArchivalChecker(self).observe]
        checkers = (self.schedules, MarkChecker(self), self.containers, self.child_runs, self.notifications)
        self.server.observers += [checker.observe for checker in checkers]
        self.server.on_request, self.server.crash = self._on_request, self.crash
        self.server.on_late = partial(fault_moments.disrupt_request, self)
        self.loop.on_error = self._on_error
        self.server.observers += [partial(fault_moments.disrupt_commit, self), self._note_removal]
        if say is not None:
            self.server.observers.append(self._on_change)

    def start(self, name: str, main: Main, *, offset: float = 0.0) -> None:
        """Start a replica, and restart it whenever it exits. A triggerer may get a new name, as in a Deployment."""
        process = Process(self.loop, name.rpartition("-")[0], name, offset=offset)
        self.controllers[name] = process
        self.note(f"{name} starts")

        def ended(error: BaseException | None) -> None:
            self.checker.expect("I7", _is_expected_exit(error, process), f"{name} ended by a bug: {error!r}")
            self.note(f"{name} ends: {error!r}")
            again()

        def again(away: float | None = None) -> None:
            delay = self.rng.choice((0.3, 1.0, 3.0)) if away is None else away
            follower = self._successor_name(name)
            self.person.call_later(delay, lambda: self.start(follower, main, offset=offset))

        process.on_exit = ended
        self._restart[name] = again
        process.start(main(self.server, process, random.Random(self.rng.getrandbits(32))))

    def _successor_name(self, name: str) -> str:
        if not name.startswith("triggerer") or self.rng.random() < _SAME_NAME:
            return name
        del self.controllers[name]
        self.gone.add(name)
        return f"triggerer-{len(self.gone) + 1}"

    def crash(self, process: Process, away: float | None = None) -> None:
        """Send SIGKILL to a replica or a pod's process."""
        if not process.alive:
            return
        self.note(f"{process.name} is killed")
        if process.kind == "pod":
            pod_process = self.nodes.running_pod_of(process)
            if pod_process is not None:
                self.nodes.die(pod_process)
            return
        process.kill()
        self._restart[process.name](away)

    def stop(self, process: Process) -> None:
        """Send SIGTERM to a replica, and SIGKILL after its grace period."""
        self.note(f"{process.name} is description to stop")
        process.terminate()
        self.person.call_later(_GRACE, self.crash, process)

    def run(self) -> Violation | None:
        """Play the seed."""
        operator = partial(controllers.operator, simulated=self.archive, scheduled=self.scheduled)
        triggerer = partial(controllers.triggerer, receiver=self.receiver, scheduled=self.scheduled)
        for name in ("operator-0", "operator-1", "triggerer-0", "triggerer-1"):
            main: Main = operator if name.startswith("operator") else triggerer
            off = self.rng.choice((-4.0, -1.0, 0.0, 2.0)) if "clocks" in self.fault_profile.kinds else 0.0
            self.start(name, main, offset=off)
        population.populate(self)
        disruptions.schedule(self)
        marks.schedule(self)
        try:
            self._play()
        except HotLoopError as error:
            self.checker.expect("I9", False, str(error))
        return self.checker.violation

    def close(self) -> None:
        """Close all unfinished tasks without running them."""
        sys.unraisablehook = lambda _: None
        for pod_process in self.nodes.running_pods.values():
            if pod_process.program is not None:
                with contextlib.suppress(BaseException):
                    pod_process.program.discard()
        for process in [
            *self.controllers.values(),
            *(pod_process.process for pod_process in self.nodes.running_pods.values()),
        ]:
            if process is not None:
                process.alive = False
        for task in self.loop.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            if not task.done():
                with contextlib.suppress(BaseException):
                    task.get_coro().close()

    def _play(self) -> None:
        calm = self.fault_profile.until
        self._until(calm)
        disruptions.calm(self)
        self.faults.calm = True
        while self.loop.time() < calm + BOUND and self.checker.violation is None and not final_state.is_finished(self):
            self._until(self.loop.time() + 2.0)
        if self.checker.violation is None:
            final_state.check_progress(self)
        if self.checker.violation is None:
            self._clean_up()
            final_state.check_leaks(self)
            for check in (self.containers.check_leaks, self.child_runs.check_leaks, self.notifications.check_end):
                check()

    def _clean_up(self) -> None:
        """Play until `REST` seconds have passed since the runs finished and since the last Workflow was removed."""
        finished = self.loop.time()
        self._until(finished + REST)
        while self.loop.time() < self.removed + REST and self.checker.violation is None:
            self._until(self.removed + REST)

    def _until(self, end: float) -> None:
        while self.loop.time() < end and self.checker.violation is None:
            self.loop.run_until(min(end, self.loop.time() + 1.0))

    def _on_request(self, process: Process, request: ApiRequest, response: Response | str) -> None:
        self.requests += 1
        self.checker.answered(process, request, response)
        if self.say is not None and ("leases" not in request.path):
            description = response if isinstance(response, str) else str(response.status)
            self.note(f"{process.name}: {request.method} {request.path.partition('v1')[2]} -> {description}")

    def _on_error(self, actor: Any, error: BaseException | None, message: str) -> None:
        if error is not None and not isinstance(error, asyncio.CancelledError | LeaseLost):
            raise error

    def _note_removal(self, _: Process, entry: ObjectChange) -> None:
        if entry.after is None and entry.address.kind == collection(WORKFLOWS):
            self.removed = self.loop.time()

    def _on_change(self, writer: Process, entry: ObjectChange) -> None:
        if "leases" in entry.address.kind or "events" in entry.address.kind:
            return
        self.note(f"{entry.version} {trace.change(entry)} by {writer.name}")

    def note(self, line: str) -> None:
        if self.say is not None:
            self.say(f"{self.loop.time():9.3f} {line}")


def play(seed: int, say: Callable[[str], None] | None = None, kinds: frozenset[str] | None = None) -> Result:
    """Play one seed, with other kinds of faults than its own if `kinds` are given.

    Deterministic in one interpreter; over interpreters with the same PYTHONHASHSEED.
    """
    started = time.process_time()
    silence_logs()
    controllers.few_shards()
    controllers.short_histories()
    controllers.short_pauses()
    controllers.ScriptedTrigger.numbers = itertools.count(1)
    gc.disable()
    simulation = Simulation(seed, say, kinds)
    bugs = _Bugs(simulation.checker)
    logging.getLogger().handlers = [bugs]
    logging.getLogger().setLevel(logging.ERROR)
    try:
        violation = simulation.run()
    finally:
        simulation.close()
        gc.enable()
        Pods.here = None  # type: ignore[assignment]
    return Result(
        seed=seed,
        violation=violation,
        checks=simulation.checker.checks,
        changes=simulation.fake.history.version,
        requests=simulation.requests,
        moment=simulation.loop.time(),
        executions=simulation.checker.executions,
        kinds=simulation.fault_profile.kinds,
        seconds=time.process_time() - started,
    )


class _Bugs(logging.Handler):
    """Reports every logged traceback as a bug."""

    def __init__(self, checker: InvariantChecker) -> None:
        super().__init__(logging.ERROR)
        self._checker = checker

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._checker.expect("I7", error is None, f"{record.getMessage()} {error!r}")


def _is_expected_exit(error: BaseException | None, process: Process) -> bool:
    """Whether a controller may exit so: only because it lost its Lease or was stopped."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_expected_exit(exception, process) for exception in error.exceptions)
    return isinstance(error, LeaseLost) or (error is None and process.stopping)

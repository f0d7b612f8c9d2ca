"""One seed, played: the processes, the troubles, the people, and how it all must end.

`play` is the whole of it. Faults stop at a moment the seed chooses; from there on every run must end within a bound,
and nothing may be left behind.
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

from torpor_api.client.lease import LeaseLost
from torpor_api.client.resources import WORKFLOWS
from torpor_api.client.transport import Response

from tests.simulation.actors import controllers
from tests.simulation.actors.api_server import Server
from tests.simulation.actors.kubelet import Kubelet
from tests.simulation.actors.tasks import Pods
from tests.simulation.actors.worker import quiet
from tests.simulation.checks import final_state
from tests.simulation.checks.invariants import Audit, Breach
from tests.simulation.loop import HotLoopError, VirtualLoop
from tests.simulation.process import Process
from tests.simulation.scenarios import disruptions, fault_moments, random_workflows
from tests.simulation.scenarios.faults import Climate, Sky
from tests.support.fake_api import Request
from tests.support.fake_api.history import Entry

BOUND = 200.0
"""Seconds after the last fault within which every run has ended."""
REST = 25.0
"""Seconds after that until nothing is left over: pods linger, orphans are found, runs reach their time to live."""
_SAME_NAME = 0.6
_GRACE = 30.0

Main = Callable[[Server, Process, random.Random], Coroutine[Any, Any, None]]

_SHOWN = tuple("state attempt segment launch phase reason message event cancel pod progress".split())  # noqa: SIM905 - one line


@dataclass(slots=True, kw_only=True)
class Result:
    """What a seed came to."""

    seed: int
    breach: Breach | None
    checks: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    requests: int = 0
    moment: float = 0.0
    executions: int = 0
    kinds: frozenset[str] = frozenset()
    seconds: float = 0.0  # of a core


class World:
    """All that a seed needs."""

    def __init__(
        self, seed: int, say: Callable[[str], None] | None = None, kinds: frozenset[str] | None = None
    ) -> None:
        self.rng = random.Random(seed)
        self.climate = Climate.drawn(self.rng)
        if kinds is not None:
            self.climate.kinds, self.climate.often = kinds, 2.0
        self.loop = VirtualLoop(random.Random(self.rng.getrandbits(32)))  # type: ignore[abstract]
        self.sky = Sky(self.climate, random.Random(self.rng.getrandbits(32)))
        self.server = Server(self.loop, self.sky)
        self.fake = self.server.fake
        self.audit = Audit()
        self.audit.creations.prompt = "late" not in self.climate.kinds
        self.audit.creations.ordered = not self.climate.kinds & {"late", "stale"}
        self.audit.order.ordered = self.audit.creations.ordered
        self.kubelet = Kubelet(self.server, random.Random(self.rng.getrandbits(32)), self.audit)
        self.audit.boxes = self.kubelet.boxes
        self.kubelet.lingering = 8.0 if "slow" in self.climate.kinds else 2.2
        self.person = Process(self.loop, "person", "person")
        self.controllers: dict[str, Process] = {}
        self.gone: set[str] = set()  # replicas that have another in their place
        self.requests = 0
        self.expected = 0
        self._revive: dict[str, Callable[[float | None], None]] = {}
        self.say = say
        self.server.audits.append(self.audit.changed)
        self.server.on_request = self._asked
        self.server.crash = self.crash
        self.server.on_late = partial(fault_moments.meanwhile, self)
        self.loop.on_error = self._bug
        self.server.audits.append(partial(fault_moments.seize, self))
        if say is not None:
            self.server.audits.append(self._told)

    def start(self, name: str, main: Main, *, offset: float = 0.0) -> None:
        """A replica, and its successors for ever after; a triggerer's may have another name, as in a Deployment."""
        process = Process(self.loop, main.__name__, name, offset=offset)
        self.controllers[name] = process
        self.note(f"{name} starts")

        def ended(error: BaseException | None) -> None:
            self.audit.expect("I7", _lawful(error, process), f"{name} ended by a bug: {error!r}")
            self.note(f"{name} ends: {error!r}")
            again()

        def again(away: float | None = None) -> None:
            delay = self.rng.choice((0.3, 1.0, 3.0)) if away is None else away
            follower = self._follower(name)
            self.person.call_later(delay, lambda: self.start(follower, main, offset=offset))

        process.on_exit = ended
        self._revive[name] = again
        process.start(main(self.server, process, random.Random(self.rng.getrandbits(32))))

    def _follower(self, name: str) -> str:
        if not name.startswith("triggerer") or self.rng.random() < _SAME_NAME:
            return name
        del self.controllers[name]
        self.gone.add(name)
        return f"triggerer-{len(self.gone) + 1}"

    def crash(self, process: Process, away: float | None = None) -> None:
        """SIGKILL for a replica or what runs in a pod."""
        if not process.alive:
            return
        self.note(f"{process.name} is killed")
        if process.kind == "pod":
            box = self.kubelet.box_of(process)
            if box is not None:
                self.kubelet.die(box)
            return
        process.kill()
        self._revive[process.name](away)

    def stop(self, process: Process) -> None:
        """SIGTERM for a replica, SIGKILL when its grace is over."""
        self.note(f"{process.name} is told to stop")
        process.terminate()
        self.person.call_later(_GRACE, self.crash, process)

    def run(self) -> Breach | None:
        """Play it."""
        names = ("operator-0", "operator-1", "triggerer-0", "triggerer-1")
        for name in names:
            main: Main = controllers.operator if name.startswith("operator") else controllers.triggerer
            off = self.rng.choice((-4.0, -1.0, 0.0, 2.0)) if "clocks" in self.climate.kinds else 0.0
            self.start(name, main, offset=off)
        for number in range(self.rng.choice((1, 1, 2))):
            body = random_workflows.workflow(self.rng, f"run-{number}")
            random_workflows.make_room(self.fake, body)
            moment = self.rng.choice((0.0, 1.0, 4.0))
            self.expected += 1
            self.person.call_later(moment, self.apply, body)
        disruptions.schedule(self)
        try:
            self._play()
        except HotLoopError as error:
            self.audit.expect("I9", False, str(error))
        return self.audit.breach

    def apply(self, body: dict[str, Any]) -> None:
        """As with kubectl."""
        self.note(f"a person applies {body['metadata']['name']}: {body['spec']}")
        self.server.act(self.person, lambda: self.fake.objects.create(WORKFLOWS, random_workflows.NAMESPACE, body))
        self.expected -= 1

    def close(self) -> None:
        """Let go of what is still under way; nothing of it may run, and what it says to being closed is not news."""
        sys.unraisablehook = lambda _: None
        for box in self.kubelet.boxes.values():
            if box.program is not None:
                with contextlib.suppress(BaseException):
                    box.program.discard()
        for process in [*self.controllers.values(), *(box.process for box in self.kubelet.boxes.values())]:
            if process is not None:
                process.alive = False
        for task in self.loop.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            if not task.done():
                with contextlib.suppress(BaseException):
                    task.get_coro().close()

    def _play(self) -> None:
        calm = self.climate.until
        self._until(calm)
        disruptions.calm(self)
        self.sky.calm = True
        end = calm + BOUND
        while self.loop.time() < end and self.audit.breach is None and not final_state.all_over(self):
            self._until(self.loop.time() + 2.0)
        if self.audit.breach is None:
            final_state.judge_progress(self)
        if self.audit.breach is None:
            self._until(self.loop.time() + REST)
            final_state.judge_leaks(self)

    def _until(self, end: float) -> None:
        while self.loop.time() < end and self.audit.breach is None:
            self.loop.run_until(min(end, self.loop.time() + 1.0))

    def _asked(self, process: Process, request: Request, said: Response | str) -> None:
        self.requests += 1
        self.audit.asked(process, request, said)
        if self.say is not None and ("leases" not in request.path):
            told = said if isinstance(said, str) else str(said.status)
            self.note(f"{process.name}: {request.method} {request.path.partition('v1')[2]} -> {told}")

    def _bug(self, actor: Any, error: BaseException | None, message: str) -> None:
        if isinstance(error, asyncio.CancelledError | LeaseLost) or error is None:
            return
        raise error

    def _told(self, writer: Process, entry: Entry) -> None:
        if "leases" in entry.address.kind or "events" in entry.address.kind:
            return
        self.note(f"{entry.version} {_change(entry)} by {writer.name}")

    def note(self, line: str) -> None:
        if self.say is not None:
            self.say(f"{self.loop.time():9.3f} {line}")


def play(seed: int, say: Callable[[str], None] | None = None, kinds: frozenset[str] | None = None) -> Result:
    """Play one seed, with other kinds of trouble than its own if `kinds` are given.

    Deterministic in one interpreter; over interpreters with the same PYTHONHASHSEED.
    """
    started = time.process_time()
    quiet()
    controllers.few_shards()
    controllers.Odd.numbers = itertools.count(1)
    gc.disable()
    world = World(seed, say, kinds)
    bugs = _Bugs(world.audit)
    logging.getLogger().handlers = [bugs]
    logging.getLogger().setLevel(logging.ERROR)
    try:
        breach = world.run()
    finally:
        world.close()
        gc.enable()
        Pods.here = None  # type: ignore[assignment]
    return Result(
        seed=seed,
        breach=breach,
        checks=world.audit.checks,
        changes=world.fake.history.version,
        requests=world.requests,
        moment=world.loop.time(),
        executions=world.audit.executions,
        kinds=world.climate.kinds,
        seconds=time.process_time() - started,
    )


class _Bugs(logging.Handler):
    """What the code under test logs with a traceback is a bug that it has put off."""

    def __init__(self, audit: Audit) -> None:
        super().__init__(logging.ERROR)
        self._audit = audit

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._audit.expect("I7", error is None, f"{record.getMessage()} {error!r}")


def _lawful(error: BaseException | None, process: Process) -> bool:
    """Whether a controller may end so: it loses its Lease, or was told to stop, and nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(_lawful(one, process) for one in error.exceptions)
    return isinstance(error, LeaseLost) or (error is None and process.stopping)


def _change(entry: Entry) -> str:
    kind, name = entry.address.kind.rpartition("/")[2], entry.address.name
    if entry.after is None:
        return f"{kind} {name} is gone"
    status = entry.after.get("status") or {}
    meta = entry.after["metadata"]
    marks = [mark for mark in ("deletionTimestamp",) if mark in meta] + list(meta.get("finalizers", []))
    told = " ".join(f"{key}={status[key]}" for key in _SHOWN if key in status)
    return f"{kind} {name} {'changes' if entry.before else 'is created'}: {told} {' '.join(marks)}".rstrip()

"""The process in the pod of a python task: the real runtime. `container` has the others.

The runtime is synchronous, so it runs in a greenlet. Each request, pause and piece of work switches back to the event
loop, so that anything can happen in between, including the end of the process.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from greenlet import greenlet  # type: ignore[import-untyped]
from torpor import deferral
from torpor.runtime import environment as launch
from torpor.runtime import exceptions, main
from torpor.runtime.http import ApiResponse, UnclearError
from torpor.runtime.runner import Terminated
from torpor_kubernetes.client.errors import Unreachable
from torpor_local.apiserver.history import Object

from tests.simulation.actors.api_server import Network
from tests.simulation.actors.tasks import Pods
from tests.simulation.process import Process, ProcessClock

KILLED, SIGNALLED = 137, 143


class Execution(NamedTuple):
    """Which segment user code runs for: at most one process ever does for each."""

    uid: str
    attempt: int
    segment: int
    launch: int


class Exit(NamedTuple):
    """How a container ended."""

    code: int
    message: str = ""
    container: str = "main"


class _Request(NamedTuple):
    method: str
    path: str
    body: Any


class _Pause(NamedTuple):
    seconds: float


class _Vanish(NamedTuple):
    pass


class Watcher:
    """The callbacks at the start and the end of user code."""

    def entered(self, pod: Object, execution: Execution, event: object) -> None:
        """User code begins, with an event if it is a resume."""

    def saw(self, pod: Object, right: bool, what: str) -> None:
        """It says whether the results that it was given are those that it should see."""

    def left(self, pod: Object, execution: Execution) -> None:
        """It has ended; what follows is the runtime's own."""

    def began(self, pod: Object, execution: Execution, container: str) -> None:
        """The program of one of several containers begins."""

    def lost_its_runtime(self, status: Object) -> bool:
        """Whether the pod of a TaskRun was killed while it got the runtime: only then its launch may fail."""
        del status
        return False


class PythonPod:
    """One process of `python -m torpor`. The driver's side; `Pods.here` is the side that tasks see."""

    def __init__(self, process: Process, network: Network, body: Object, rng: random.Random, watcher: Watcher) -> None:
        self._launch = launch.read(_environment(body), f"{rng.getrandbits(64):x}", body["metadata"]["uid"])
        self.attempt, self.segment = self._launch.attempt, self._launch.segment
        self._process = process
        self._clock = ProcessClock(process)
        self._network = network
        self._body = body
        self._rng = rng
        self._watcher = watcher
        self._called = False
        self._gone = False
        self._ending = self._finishing = False
        self._skipped_seconds = 0.0
        self._code: greenlet = greenlet(self._run)
        self.terminate: Callable[[], object] = lambda: None

    @property
    def execution(self) -> Execution:
        numbers = self._launch
        return Execution(numbers.uid, numbers.attempt, numbers.segment, numbers.launch)

    async def main(self) -> Exit:
        """Run until the process ends."""
        wanted = self._switch()
        while not self._code.dead:
            match wanted:
                case _Request(method, path, body):
                    wanted = self._switch(await self._exchange(method, path, body))
                case _Pause(seconds):
                    await self._sleep(seconds)
                    wanted = self._switch()
                case _:
                    return Exit(KILLED)
        return Exit(int(wanted))

    def terminated(self) -> None:
        """SIGTERM; what waits is interrupted, unless the task is done and its report under way."""
        if not self._finishing:
            self._ending = True
            self.terminate()

    def discard(self) -> None:
        """After the simulation: let the greenlet end without another request."""
        self._gone = True
        if self._code and not self._code.dead:
            self._code.throw(Terminated)

    # what the runtime is given

    def _run(self) -> int:
        simulation = main.RuntimeEnvironment(
            transport=self._ask,
            now=self._clock.now,
            monotonic=self._monotonic,
            sleep=self.sleep,
            jitter=self._rng.random,
            begin=lambda: None,
            end=self._end,
        )
        try:
            return main.run(simulation, self._launch)
        except Terminated:
            return SIGNALLED

    def _ask(self, method: str, path: str, body: Any = None) -> ApiResponse:
        if self._gone:
            raise UnclearError("the process is gone")
        response = self._hub(_Request(method, path, body))
        if isinstance(response, str):
            raise UnclearError(response)
        return ApiResponse(response.status, response.body)

    def _end(self) -> bool:
        self._finishing = True
        self._watcher.left(self._body, self.execution)
        return self._ending

    def _monotonic(self) -> float:
        self._skipped_seconds += 1e6 if self._gone else 0.0
        return self._clock.monotonic() + self._skipped_seconds

    # what tasks see

    def entered(self, event: object) -> None:
        self._watcher.entered(self._body, self.execution, event)

    def saw(self, right: bool, what: str) -> None:
        self._watcher.saw(self._body, right, what)

    def token(self) -> str:
        numbers = self._launch
        return f"{numbers.uid}/{numbers.attempt}/{numbers.segment}"

    def now(self) -> float:
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        if not self._gone:
            self._hub(_Pause(seconds))

    def vanish(self) -> None:
        self._hub(_Vanish())

    # switching

    def _hub(self, wanted: Any) -> Any:
        response = self._code.parent.switch(wanted)
        if self._ending and not self._finishing:
            raise Terminated
        return response

    def _switch(self, *values: Any) -> Any:
        Pods.here = self
        deferral._DeferCalls.called = self._called
        wanted = self._code.switch(*values)
        self._called = deferral._DeferCalls.called
        return wanted

    async def _exchange(self, method: str, path: str, body: Any) -> Any:
        asking = asyncio.ensure_future(self._network.request(method, path, body=body))
        self.terminate = asking.cancel
        try:
            return await asking
        except Unreachable as error:
            return error.message
        except asyncio.CancelledError:
            return "interrupted by a signal"
        finally:
            self.terminate = lambda: None

    async def _sleep(self, seconds: float) -> None:
        woken = self._process.loop.create_future()
        self.terminate = lambda: None if woken.done() else woken.set_result(None)
        timer = self._process.loop.call_later(seconds, self.terminate)
        await woken
        timer.cancel()


def silence_logs() -> None:
    """Failures of tasks are the point here; their tracebacks are not."""
    for module, name in ((exceptions, "show"), (main, "_say")):
        setattr(module, name, lambda _: None)


def _environment(body: Object) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in body["spec"]["containers"][0]["env"]}

"""The containers of a pod that has several, or whose exit code is its result. No program writes outcome documents.

Init containers and steps run in the order of the pod, and the task's own container after them. Sidecars start between
them and may restart at any time. Each program follows a script, a list of attempts: `7/2` ends with exit code 7 after
two seconds. A step reports its name and attempt.
"""

import json
import random
import re
from collections.abc import Callable
from typing import Any

from torpor_local.apiserver.history import Object
from torpor_local.pods import status
from torpor_operator.model.pod import MAIN, RUNTIME_CONTAINER
from torpor_wire import constants

from tests.simulation.actors.container import container_environment, pod_numbers
from tests.simulation.actors.worker import Execution, Exit, Watcher
from tests.simulation.process import Process, ProcessClock

_SCRIPT = re.compile(r"\d+/\d+")
_COPY_S, _SIDECAR_S = 0.2, 0.4
_RESTARTS, _SLOW = 0.3, 0.15
"""Of the sidecars: those that restart while the task runs, and those whose image is late."""
_WAITING: Object = {"waiting": {"reason": "PodInitializing"}}
_BACKOFF: Object = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}
_PULLING: Object = {"waiting": {"reason": "ImagePullBackOff", "message": "a registry's bad day"}}


def has_scripts(body: Object) -> bool:
    """Whether the container of the task follows such a script."""
    return _SCRIPT.fullmatch((body["spec"]["containers"][0].get("command") or [""])[-1]) is not None


def outcome_of(command: list[str], attempt: int) -> tuple[int, float]:
    """The exit code of an attempt and its duration in seconds."""
    code, _, seconds = command[min(attempt, len(command)) - 1].partition("/")
    return int(code), float(seconds)


def report_of(name: str, attempt: int) -> Object:
    """What a program reports."""
    return {"container": name, "attempt": attempt}


class ContainerSequence:
    """One pod. `report` writes its status."""

    def __init__(
        self, process: Process, body: Object, watcher: Watcher, rng: random.Random, report: Callable[[], None]
    ) -> None:
        self._attempt, segment, again = pod_numbers(body["metadata"]["name"])
        owner = body["metadata"]["ownerReferences"][0]["uid"]
        self.execution = Execution(owner, self._attempt, segment, again)
        self._clock = ProcessClock(process)
        self._process = process
        self._body = body
        self._watcher = watcher
        self._rng = rng
        self._report = report
        self._states: dict[str, Object] = {}
        self._running = ""

    async def main(self) -> Exit:
        """Run until a container fails, or the last one ends."""
        self._watcher.entered(self._body, self.execution, None)
        for each in self._body["spec"].get("initContainers", []):
            if each.get("restartPolicy") == "Always":
                await self._start_sidecar(each["name"])
                continue
            ended = await self._run(each)
            if ended.code:
                return ended
        return await self._run(self._body["spec"]["containers"][0])

    def terminated(self) -> None:
        """No container hears of SIGTERM in time."""

    def discard(self) -> None:
        """Nothing is left of it."""

    def status(self, now: float) -> Object:
        """The status of the pod while it runs."""
        is_running = MAIN in self._states
        state = self._states.get(MAIN, _WAITING)
        main = status.container_status(self._body["spec"]["containers"][0], state)
        phase = {"phase": "Running"} if is_running else {"phase": "Pending"}
        started = {"startTime": status.running(self._body, now)["startTime"]}
        return phase | started | {"containerStatuses": [main], "initContainerStatuses": self._init_statuses()}

    def ended(self, ended: Exit, now: float) -> Object:
        """The status of the pod after its end; `ended` is that of the last container that ran, or of the pod."""
        final = status.ended(self._body, ended.code, ended.message, now)
        state = final["containerStatuses"][0]["state"]
        if self._running:
            self._states[self._running] = state
        main = status.container_status(self._body["spec"]["containers"][0], self._states.get(MAIN, _WAITING))
        return final | {"containerStatuses": [main], "initContainerStatuses": self._init_statuses()}

    @property
    def last(self) -> str:
        """The container that runs, or ended last; empty before the first one."""
        return self._running

    async def _run(self, each: Object) -> Exit:
        name = each["name"]
        own = name == RUNTIME_CONTAINER
        code, seconds = (0, _COPY_S) if own else outcome_of(_script(each), self._attempt)
        if not own:
            self._watcher.began(self._body, self.execution, name)
        self._running = name
        self._states[name] = {"running": {}}
        self._report()
        await self._clock.sleep(seconds)
        ended = Exit(code, "" if own else self._message(each), name)
        self._states[name] = status.ended(self._body, code, ended.message, 0.0)["containerStatuses"][0]["state"]
        return ended

    async def _start_sidecar(self, name: str) -> None:
        if self._rng.random() < _SLOW:
            self._states[name] = _PULLING
            self._report()
            await self._clock.sleep(self._rng.uniform(1.0, 5.0))
        await self._clock.sleep(_SIDECAR_S)
        self._states[name] = {"running": {}}
        if self._rng.random() < _RESTARTS:
            self._process.call_later(self._rng.uniform(0.1, 3.0), self._restart, name)

    def _restart(self, name: str) -> None:
        """A sidecar ends while others run: the kubelet starts it again, some time later."""
        if MAIN in self._states:
            self._states[name] = _BACKOFF
            self._report()

    def _message(self, each: Object) -> str:
        report: Any = report_of(each["name"], self._attempt)
        nonce = container_environment(each).get(constants.ENV_OUTCOME_NONCE)
        is_wrapped = "--" in (each.get("command") or ())
        return json.dumps({"torpor": 1, "nonce": nonce, "result": report} if is_wrapped else report)

    def _init_statuses(self) -> list[Object]:
        containers = self._body["spec"].get("initContainers", [])
        statuses = [status.container_status(each, self._states.get(each["name"], _WAITING)) for each in containers]
        for each in statuses:
            each["started"] = "running" in each["state"]
        return statuses


def _script(each: Object) -> list[str]:
    words: list[str] = each["command"]
    return words[words.index("--") + 1 :] if "--" in words else words

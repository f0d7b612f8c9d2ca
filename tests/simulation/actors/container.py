"""The program of a container task. It follows a script and speaks the container protocol, without Torpor's code.

A script is a list of attempts, each a text of segments such as `defer:3+ok:1`. A segment works for a while and ends:

- `ok:1`, `skip:1`, `fail:1`, `final:1` (seconds of work);
- `defer:3` (seconds), `poll:2` (a trigger polls twice), `share:2` (the same, shared by all waits of this number),
  `brief:12` (the same, with a timeout of 3 s), `late:12` (the same, which resumes), `bad` (a trigger that raises).
"""

import json
from typing import Any

from torpor_local.apiserver.history import Object
from torpor_wire import constants, times

from tests.simulation.actors.worker import Execution, Exit, Watcher
from tests.simulation.process import Process, ProcessClock

WAITS = frozenset({"defer", "poll", "share", "brief", "late", "bad"})
_WORK_S = 0.5


def word(command: list[str], attempt: int, segment: int) -> tuple[str, str]:
    """What a segment of a script does, and its number."""
    segments = command[min(attempt, len(command)) - 1].split("+")
    verb, _, number = segments[min(segment, len(segments) - 1)].partition(":")
    return verb, number


class ContainerPod:
    """A program: it works for a while, writes its outcome, exits. It never hears of SIGTERM in time."""

    def __init__(self, process: Process, body: Object, watcher: Watcher) -> None:
        attempt, segment, again = pod_numbers(body["metadata"]["name"])
        owner = body["metadata"]["ownerReferences"][0]["uid"]
        self.execution = Execution(owner, attempt, segment, again)
        self._clock = ProcessClock(process)
        self._body = body
        self._watcher = watcher

    async def main(self) -> Exit:
        """Run until the process ends."""
        uid, attempt, segment, _ = self.execution
        environment = container_environment(self._body["spec"]["containers"][0])
        self._watcher.entered(self._body, self.execution, json.loads(environment.get(constants.ENV_EVENT, "null")))
        state = json.loads(environment.get(constants.ENV_STATE, "null"))
        wanted = f"{uid}/{attempt}/{segment - 1}" if segment else None
        self._watcher.saw(self._body, state == wanted, f"it resumes with the state {state}, not {wanted}")
        verb, number = word(self._body["spec"]["containers"][0]["command"], attempt, segment)
        await self._clock.sleep(_WORK_S if verb in WAITS else float(number or _WORK_S))
        self._watcher.left(self._body, self.execution)
        nonce = environment[constants.ENV_OUTCOME_NONCE]
        if verb == "fail":
            return Exit(3, "as the script says")
        return Exit(0, json.dumps({"torpor": 1, "nonce": nonce, **self._outcome(verb, number)}))

    def terminated(self) -> None:
        """It is not listening."""

    def discard(self) -> None:
        """Nothing is left of it."""

    def _outcome(self, verb: str, number: str) -> Object:
        match verb:
            case "ok":
                return {"result": {"rows": 3}}
            case "skip":
                return {"skip": {"message": "as the script says"}}
            case "final":
                return {"fail": {"message": "as the script says", "retryable": False}}
            case _:
                return {"defer": self._deferral(verb, number)}

    def _deferral(self, verb: str, number: str) -> Object:
        uid, attempt, segment, _ = self.execution
        token = f"{uid}/{attempt}/{segment}"
        trigger: dict[str, Any]
        match verb:
            case "defer":
                at = times.rfc3339(self._clock.now() + float(number))
                trigger = {"class": "time", "kwargs": {"at": at}}
            case "bad":
                trigger = {"class": "odd", "kwargs": {"looks": 0, "word": "bad", "token": token}}
            case "poll":
                trigger = {"class": "odd", "kwargs": {"looks": int(number), "word": "poll", "token": token}}
            case _:
                shared = f"share {float(number)}"
                trigger = {"class": "odd", "kwargs": {"looks": int(number), "word": "poll", "token": shared}}
        timeout = {"timeout": "3s"} if verb in {"brief", "late"} else {}
        late = {"onTimeout": "resume"} if verb == "late" else {}
        return {"trigger": trigger, "state": token, **timeout, **late}


def container_environment(container: Object) -> dict[str, str]:
    """As the kubelet makes it: `$$` is one `$`."""
    return {each["name"]: each.get("value", "").replace("$$", "$") for each in container.get("env", ())}


def pod_numbers(name: str) -> tuple[int, int, int]:
    """Attempt, segment and launch from a pod's name."""
    words = name.split("-")
    launched = int(words.pop()[1:]) if words[-1][0] == "l" and words[-2][0] == "s" else 0
    return int(words[-2][1:]), int(words[-1][1:]), launched

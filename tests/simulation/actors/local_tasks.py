"""The task functions of simulated workflows, in the processes of a local run."""

import os
import time
from collections.abc import Sequence

from torpor import clock
from torpor_wire import constants, runtime_variable

from tests.simulation.actors import tasks
from tests.simulation.actors.tasks import Script

_WORK_SECONDS = 0.02
"""Work takes real time in a local run; how much does not matter without timeouts."""


class LocalPod:
    """This process as a pod."""

    def __init__(self) -> None:
        self._variable = runtime_variable.parse(os.environ[constants.ENV_RUNTIME])
        self.attempt, self.segment = self._variable.attempt, self._variable.segment

    def entered(self, event: object) -> None:
        """User code begins."""

    def saw(self, right: bool, what: str) -> None:
        assert right, what

    def token(self) -> str:
        return f"{self._variable.uid}/{self.attempt}/{self.segment}"

    def now(self) -> float:
        return clock.now()

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, _WORK_SECONDS))

    def vanish(self) -> None:
        os._exit(9)


def perform(  # noqa: PLR0913 - as of the simulation
    script: Script,
    item: object = None,
    other: object = None,
    *,
    at: list[int] | None = None,
    rows: object = None,
    shared: int = 0,
    names: Sequence[str] = (),
) -> object:
    """The first segment of an attempt."""
    tasks.Pods.here = LocalPod()
    return tasks.perform(script, item, other, at=at, rows=rows, shared=shared, names=names)


def resumed(event: object, script: Script, at: list[int] | None = None) -> object:
    """Every later one."""
    tasks.Pods.here = LocalPod()
    return tasks._act(script, event, at)


tasks.resumed = resumed

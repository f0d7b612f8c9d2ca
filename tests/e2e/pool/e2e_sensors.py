"""A sensor that looks without blocking: in the image of the tests' tasks, and by the same name in their triggerer's."""

import os
import socket
from typing import Any

from torpor import BaseSensor, Context, PokeResult, task
from torpor_wire import constants


@task
class Elsewhere(BaseSensor):
    """It is so where it is not looked for in a task pod; its value is the host that looked."""

    async def poke(self, context: Context) -> PokeResult:
        return PokeResult(constants.ENV_RUNTIME not in os.environ, socket.gethostname())

    def poked(self, context: Context, event: Any) -> Any:
        return {"found": event, "here": socket.gethostname()}

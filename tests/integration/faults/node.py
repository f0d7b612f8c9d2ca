"""The node of these tests: a kubelet over the API, whose containers are processes. It can lose and drain pods."""

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from torpor_kubernetes.client.api import Api
from torpor_wire import constants, times

from tests.integration.controller.pods.processes import NODE, PodProcesses
from tests.support.kubelet.api_kubelet import ApiKubelet

Object = dict[str, Any]


@dataclass(kw_only=True, eq=False)
class ProcessNode:
    """`call` runs a coroutine in the background loop and waits for its value."""

    api: Api
    pods: PodProcesses
    call: Callable[[Coroutine[Any, Any, Any]], Any]
    running: "asyncio.Task[None] | None" = None

    def start(self) -> None:
        """Start the kubelet."""

        async def start() -> "asyncio.Task[None]":
            kubelet = ApiKubelet(self.api, self.pods, node=NODE, label_selector=constants.LABEL_TASKRUN_UID)
            return asyncio.create_task(kubelet.run())

        self.running = self.call(start())

    def check(self) -> None:
        """Raise what ended the kubelet."""
        if self.running is not None and self.running.done():
            self.running.result()

    def stop(self) -> None:
        """Stop the kubelet and kill its containers."""

        async def stop(running: "asyncio.Task[None]") -> None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        if self.running is not None:
            self.call(stop(self.running))
            self.running = None

    def kill(self, pod: Object) -> None:
        """Kill the container of a pod."""
        uid = pod["metadata"]["uid"]

        async def send() -> None:
            self.pods.send(uid, signal.SIGKILL)

        self.call(send())


def disruption(reason: str) -> Object:
    """Return the condition of a pod that ends through no fault of its own."""
    now = times.rfc3339(time.time())
    message = f"the tests: {reason}"
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }

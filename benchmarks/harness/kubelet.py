"""`python -m benchmarks.harness.kubelet SOCKET`: the kubelet of all nodes, without containers.

It sends the environment of a python task's pod to the worker behind the socket, and the pod has succeeded when the
worker has finished. Other pods succeed at once, those of container tasks with a result. A pod therefore costs two
status patches, as with kwok; kwok itself would need another write to learn the end of the worker.
"""

import asyncio
import json
import os
import signal
import sys

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.timing import SystemClock
from torpor_operator.taskrun.outcomes.container_outcome import MARK, NONCE
from torpor_wire import constants

from tests.support.kubelet.api_kubelet import ApiKubelet, ContainerExit, Pod

RESULT = 1
"""The result of each container task."""
_PROGRAM = "tests-kubelet"


class RemoteWorker:
    """The worker that runs all containers."""

    def __init__(self, requests: asyncio.StreamWriter) -> None:
        self._requests = requests
        self._exits: dict[str, asyncio.Future[None]] = {}

    async def receive(self, responses: asyncio.StreamReader) -> None:
        """Read the uid of each pod that has finished, until the worker hangs up."""
        async for line in responses:
            self._exits.pop(line.decode().strip()).set_result(None)

    async def start(self, pod: Pod) -> None:
        pass

    def work(self, pod: Pod) -> dict[str, str]:
        """What the worker has to know of the pod. Empty if no program of the pod makes requests."""
        environ = _environ(pod)
        return environ if constants.ENV_RUNTIME in environ else {}

    async def wait(self, pod: Pod) -> ContainerExit:
        uid = pod["metadata"]["uid"]
        if work := self.work(pod):
            ended = self._exits[uid] = asyncio.get_running_loop().create_future()
            self._requests.write(json.dumps(work | {constants.ENV_POD_UID: uid}).encode() + b"\n")
            await ended
        return ContainerExit(message=_outcome(pod))

    def send(self, uid: str, number: signal.Signals) -> None:
        pass


def _environ(pod: Pod) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in pod["spec"]["containers"][0].get("env", [])}


def _outcome(pod: Pod) -> str:
    """The termination message: the document of a wrapper (ADR 0060) if the pod has a nonce for it."""
    nonce = _environ(pod).get(constants.ENV_OUTCOME_NONCE)
    return json.dumps({MARK: constants.PROTOCOL, NONCE: nonce, "result": RESULT}) if nonce else ""


async def main(path: str, kind: type[RemoteWorker] = RemoteWorker, kubelet_kind: type[ApiKubelet] = ApiKubelet) -> None:
    """Serve the one worker that connects, until it hangs up."""
    done = asyncio.Event()
    async with connect(program=_PROGRAM) as transport:

        async def serve(responses: asyncio.StreamReader, requests: asyncio.StreamWriter) -> None:
            worker = kind(requests)
            try:
                async with asyncio.TaskGroup() as group:
                    kubelet = group.create_task(kubelet_kind(Api(transport, SystemClock()), worker).run())
                    await worker.receive(responses)
                    kubelet.cancel()
            finally:
                requests.close()
                done.set()

        async with await asyncio.start_unix_server(serve, path):
            await done.wait()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    asyncio.run(main(sys.argv[1]))

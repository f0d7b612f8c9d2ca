"""`python -m benchmarks.argo.kubelet SOCKET`: the kubelet of the bench, for pods with Argo's executor.

It passes the variables of the `wait` container on to the executor behind the socket, and reports the state of both
containers.
"""

import asyncio
import sys
from typing import Any

from benchmarks.harness import kubelet
from benchmarks.harness.kubelet import RemoteWorker
from tests.support.kubelet.api_kubelet import ApiKubelet, KubeletPod, Pod

WAIT = "wait"


class RemoteExecutor(RemoteWorker):
    """The executors of all pods."""

    def work(self, pod: Pod) -> dict[str, str]:
        waiting = [each for each in pod["spec"]["containers"] if each["name"] == WAIT]
        named = [variable for each in waiting for variable in each.get("env", [])]
        own = {"namespace": pod["metadata"]["namespace"], "pod": pod["metadata"]["name"]}
        return own | {variable["name"]: variable.get("value", "") for variable in named} if waiting else {}


class ContainersKubelet(ApiKubelet):
    """Reports the state of each container, where the kubelet of Torpor's pods reports the first."""

    def complete(self, pod: KubeletPod, reported: dict[str, Any]) -> dict[str, Any]:
        complete = super().complete(pod, reported)
        [first] = complete["containerStatuses"]
        names = [{"name": each["name"], "image": each["image"]} for each in pod.body["spec"]["containers"]]
        return complete | {"containerStatuses": [first | name for name in names]}


if __name__ == "__main__":
    asyncio.run(kubelet.main(sys.argv[1], RemoteExecutor, ContainersKubelet))

"""What only a node can do: end a process with SIGKILL, so that no handler of it runs; fall silent, and come back.

A kind node is a container of the local engine, entered with docker. Must not touch any process but those of the pod
that is named, nor stop a node that others need.
"""

from collections.abc import Sequence

import pytest
from torpor_demo.kubectl import Kubectl
from torpor_dev import command
from torpor_dev.console import CommandError

SYSTEM = "torpor-system"
_PROCESSES = 'for f in /proc/[0-9]*/cgroup; do if grep -q "$1" "$f"; then echo "${f%/cgroup}"; fi; done 2>/dev/null'
_KILL = 'for p in "$@"; do kill -9 "${p#/proc/}"; done'


def kill(kubectl: Kubectl, pod: str, program: str) -> int:
    """SIGKILL to every process of the pod whose command line names the program; gives how many there were."""
    try:
        node, ours = running(kubectl, pod, program)
    except CommandError as error:
        pytest.skip(f"the node of {pod} is no container of the local engine: {error}")
    end(node, ours)
    return len(ours)


def running(kubectl: Kubectl, pod: str, program: str) -> tuple[str, list[str]]:
    """The pod's node, and there its processes whose command line names the program. Raises as `processes` does."""
    body = kubectl.read("pod", pod, "-n", SYSTEM)
    node = body["spec"]["nodeName"]
    listed = processes(node, body["metadata"]["uid"])
    return node, [
        path for path in listed if program in command.run("docker", "exec", node, "cat", f"{path}/cmdline", limit=20)
    ]


def end(node: str, folders: Sequence[str]) -> None:
    """SIGKILL to processes of a node, by their folders in /proc."""
    command.run("docker", "exec", node, "sh", "-c", _KILL, "sh", *folders, limit=20)


def processes(node: str, uid: str) -> list[str]:
    """The folders in /proc of the processes of the pod with this uid. Raises CommandError where nothing can look."""
    # cgroupfs writes the uid as it is, the systemd driver with underscores.
    pattern = uid.replace("-", "[-_]")
    return command.run("docker", "exec", node, "sh", "-c", _PROCESSES, "sh", pattern, limit=60).split()


def pause(node: str) -> None:
    """Stop every process of the node: to all others it is gone."""
    command.run("docker", "pause", node, limit=60)


def go_on(node: str) -> None:
    """Let the processes of a paused node go on, unaware that time has passed."""
    command.run("docker", "unpause", node, limit=60)


def restarts(kubectl: Kubectl, pod: str) -> int:
    """How often the pod's container was started again."""
    statuses = kubectl.read("pod", pod, "-n", SYSTEM)["status"]["containerStatuses"]
    return sum(each["restartCount"] for each in statuses)

"""What only a node can do: end a process with SIGKILL, so that no handler of it runs.

A kind node is a container of the local engine, entered with docker. Must not touch any process but those of the pod
that is named.
"""

import pytest
from torpor_demo.kubectl import Kubectl
from torpor_dev import command
from torpor_dev.errors import CommandError

SYSTEM = "torpor-system"
_PROCESSES = 'for f in /proc/[0-9]*/cgroup; do if grep -q "$1" "$f"; then echo "${f%/cgroup}"; fi; done 2>/dev/null'
_KILL = 'for p in "$@"; do kill -9 "${p#/proc/}"; done'


def kill(kubectl: Kubectl, pod: str, program: str) -> int:
    """SIGKILL to every process of the pod whose command line names the program; gives how many there were."""
    found = kubectl.read("pod", pod, "-n", SYSTEM)
    node, uid = found["spec"]["nodeName"], found["metadata"]["uid"]
    # cgroupfs writes the uid as it is, the systemd driver with underscores.
    pattern = uid.replace("-", "[-_]")
    try:
        listed = command.run("docker", "exec", node, "sh", "-c", _PROCESSES, "sh", pattern, limit=60).split()
    except CommandError as error:
        pytest.skip(f"the node {node} is no container of the local engine: {error}")
    ours = [
        path for path in listed if program in command.run("docker", "exec", node, "cat", f"{path}/cmdline", limit=20)
    ]
    command.run("docker", "exec", node, "sh", "-c", _KILL, "sh", *ours, limit=20)
    return len(ours)


def restarts(kubectl: Kubectl, pod: str) -> int:
    """How often the pod's container was started again."""
    statuses = kubectl.read("pod", pod, "-n", SYSTEM)["status"]["containerStatuses"]
    return sum(each["restartCount"] for each in statuses)

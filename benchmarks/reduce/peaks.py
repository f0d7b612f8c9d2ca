"""The most memory that Torpor's own processes have held, as the kernel of their node counts it.

VmHWM of /proc is the peak itself, which samples could miss, and it leaves out the page cache that a cgroup counts: an
archive that writes a gigabyte to its file fills all the cache it is given. Writing 5 to clear_refs begins it anew.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl
from torpor_dev import command

from tests.e2e.support import node

PROGRAMS = {"operator": "torpor_operator", "archive": "torpor_archive"}
_RESET = 'for p in "$@"; do echo 5 > "$p/clear_refs" || exit 1; done'
_READ = 'for p in "$@"; do cat "$p/status" || exit 1; done'
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_LIMIT = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProcess:
    """A process of a pod, by its folder in /proc of its node."""

    node: str
    folder: str


def find(kubectl: Kubectl) -> dict[str, list[NodeProcess]]:
    """The processes of each part, one for each replica. Raises CommandError where the nodes are not of this engine."""
    return {part: _find_processes(kubectl, part, program) for part, program in PROGRAMS.items()}


def reset(processes: Mapping[str, list[NodeProcess]]) -> None:
    """From now on the peak is counted from what each holds now."""
    for each in (process for several in processes.values() for process in several):
        _shell(each, _RESET)


def read(processes: Mapping[str, list[NodeProcess]]) -> dict[str, int]:
    """The peak of each part since it was reset, in bytes: that of its largest replica.

    Raises CommandError where a process is no more, since what another in its place has held says nothing.
    """
    return {part: max(parse(_shell(each, _READ)) for each in several) for part, several in processes.items()}


def parse(status: str) -> int:
    """The peak that a status of /proc tells, in bytes."""
    match = _PEAK.search(status)
    if match is None:
        raise ValueError("the status of a process has no VmHWM")
    return 1024 * int(match[1])


def _find_processes(kubectl: Kubectl, part: str, program: str) -> list[NodeProcess]:
    pods = kubectl.read("pods", "-n", SYSTEM, "-l", f"app.kubernetes.io/component={part}")["items"]
    folders_by_node = [node.running(kubectl, pod["metadata"]["name"], program) for pod in pods]
    return [NodeProcess(node=name, folder=folder) for name, folders in folders_by_node for folder in folders]


def _shell(process: NodeProcess, script: str) -> str:
    return command.run("docker", "exec", process.node, "sh", "-c", script, "sh", process.folder, limit=_LIMIT)

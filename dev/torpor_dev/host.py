"""Observes this machine: system, rights and capabilities. Reads only."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_CAP_SYS_RESOURCE = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The facts that decide how a cluster is created."""

    linux: bool
    debian: bool
    root: bool
    systemd: bool
    cgroup_v1: bool
    sys_resource: bool


def observe() -> HostFacts:
    """Observe this machine."""
    return HostFacts(
        linux=platform.system() == "Linux",
        debian=Path("/etc/debian_version").exists(),
        root=os.geteuid() == 0,
        systemd=Path("/run/systemd/system").is_dir(),
        cgroup_v1=not Path("/sys/fs/cgroup/cgroup.controllers").exists() and Path("/sys/fs/cgroup").is_dir(),
        sys_resource=_has(_CAP_SYS_RESOURCE),
    )


def _has(capability: int) -> bool:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return True
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:"))
    return bool(int(bounding, 16) >> capability & 1)

"""How busy the machine is. Must not be used to skip a check: it only stretches what is promised for an idle machine."""

import os
from pathlib import Path

_LOAD = Path("/proc/loadavg")


def slowness() -> float:
    """By what factor a process may take longer than on an idle machine: the processes that wait for each core."""
    return max(1.0, os.getloadavg()[0] / _cores(), _runnable() / _cores())


def _runnable() -> float:
    """How many threads run or wait for a core now: the load of a minute follows a burst of work too late."""
    return float(_LOAD.read_text().split()[3].partition("/")[0]) if _LOAD.exists() else 0.0


def _cores() -> int:
    return os.cpu_count() or 1

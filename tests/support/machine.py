"""How busy the machine is. Must not be used to skip a check: it only stretches what is promised for an idle machine."""

import os


def slowness() -> float:
    """By what factor a process may take longer than on an idle machine: the processes that wait for each core."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))

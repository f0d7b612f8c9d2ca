"""The measuring hook: with TORPOR_STARTUP_REPORT=1, one JSON line on stdout just before the user's code is imported.

`startup_ms` counts from the start that the kernel keeps for the process. A container runtime prepares the container in
that same process before it becomes Python, so `cpu_ms` (the time spent computing) stands beside it. The kernel keeps
the start in ticks of 10 ms.
"""

import json
import os
import sys
import time

SWITCH = "TORPOR_STARTUP_REPORT"
_START_TIME = 19
"""Position of the start time in /proc/self/stat, counted behind the command's closing parenthesis."""


def line() -> str:
    """The report on this process, as it stands now."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    with open("/proc/self/stat", encoding="utf-8") as file:  # noqa: PTH123 - pathlib would be in the figure
        ticks = int(file.read().rpartition(")")[2].split()[_START_TIME])
    started = ticks / os.sysconf("SC_CLK_TCK")
    report = {
        "startup_ms": round((now - started) * 1000, 1),
        "cpu_ms": round(time.process_time() * 1000, 1),
        "modules": sorted(sys.modules),
    }
    return json.dumps(report)

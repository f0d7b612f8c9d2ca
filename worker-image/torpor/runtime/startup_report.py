"""Measures start-up: with TORPOR_STARTUP_REPORT=1, prints one JSON line before it imports the user's code.

`startup_ms` counts from the start of the process in the kernel. A container runtime prepares the container in that same
process, so `cpu_ms` (CPU time) is reported as well. The kernel's resolution is 10 ms.
"""

import json
import os
import sys
import time

_START_TIME = 19
"""Position of the start time in /proc/self/stat, after the closing parenthesis of the command."""


def line() -> str:
    """Return the report on this process."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    with open("/proc/self/stat", encoding="utf-8") as file:  # noqa: PTH123 - pathlib would count in the measurement
        ticks = int(file.read().rpartition(")")[2].split()[_START_TIME])
    started = ticks / os.sysconf("SC_CLK_TCK")
    report = {
        "startup_ms": round((now - started) * 1000, 1),
        "cpu_ms": round(time.process_time() * 1000, 1),
        "modules": sorted(sys.modules),
    }
    return json.dumps(report)

"""Measures what Airflow costs: `make bench-airflow`. CPU seconds do not depend on the load of the machine.

- The start of a python task, and of a task that runs an operator of Airflow: CPU seconds until its code runs.
- The memory of a process with the classes of a pool, and with 1,000 and 10,000 waiting triggers of Airflow in it. The
  TaskRuns of a triggerer come in addition, and are the same for every class.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

REPEATS = 5
_PYTHON_TASK = "import torpor.runtime.main"
_OPERATOR = "import torpor.runtime.main, torpor_airflow.operators, airflow.providers.standard.operators.bash"
_POOL = """
import asyncio, sys
from pathlib import Path
from torpor_airflow.triggers import catalog
made = catalog.load_classes("airflow.providers.**")["airflow.providers.standard.triggers.temporal.DateTimeTrigger"]
from datetime import timedelta
from airflow.sdk import timezone

async def wait(trigger):
    async for _ in trigger.run():
        break

async def main():
    moment = timezone.utcnow() + timedelta(days=1)
    tasks = [asyncio.create_task(wait(made(moment=moment))) for _ in range(int(sys.argv[1]))]
    await asyncio.sleep(5)
    print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line))
    for task in tasks:
        task.cancel()

asyncio.run(main())
"""


def start_seconds(code: str) -> float:
    """Return the median of the CPU seconds of an interpreter that runs this code."""
    return median(_cpu_seconds(code) for _ in range(REPEATS))


def _cpu_seconds(code: str) -> float:
    child = subprocess.Popen([sys.executable, "-c", code])
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{code} fails")
    return used.ru_utime + used.ru_stime


def memory_mebibytes(count: int) -> float:
    """Return the resident memory of a process with the classes of a pool, and so many waiting triggers."""
    argv = [sys.executable, "-c", _POOL, str(count)]
    printed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return round(int(printed.split()[-1]) / 1024, 1)  # kB


def main() -> int:
    """Print the figures as JSON, and write them to the path that is the argument, if any."""
    figures = {
        "start_cpu_s": {
            "python": round(start_seconds(_PYTHON_TASK), 2),
            "operator": round(start_seconds(_OPERATOR), 2),
        },
        "memory_mib": {str(count): memory_mebibytes(count) for count in (0, 1_000, 10_000)},
    }
    text = json.dumps(figures, indent=2) + "\n"
    sys.stdout.write(text)
    for path in sys.argv[1:]:
        Path(path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

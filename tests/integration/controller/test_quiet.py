"""What waits costs nothing: fifty waits, and whatever earlier tests left behind, without requests and without work."""

import os
import time
from pathlib import Path

from tests.integration.controller.api_call_log import tally
from tests.integration.controller.stage import Process, Stage

WAITS, QUIET = 50, 20.0
# A watch lasts five minutes and is then opened again, so a few may fall into any few seconds.
MOST_BUT_LEASES, MOST_ON_LEASES, MOST_SECONDS_OF_CPU = 6, 20, 1.5


def _seconds_of_cpu(process: Process) -> float:
    fields = Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_fifty_waits_make_almost_no_requests_and_no_work(stage: Stage) -> None:
    wait = {"class": "duration", "kwargs": {"duration": "1h"}}
    name = stage.submit([{"name": f"wait_{number}", "trigger": wait} for number in range(WAITS)])
    stage.until(lambda: sum(task["deferred"] for task in stage.status(name).get("tasks", [])) == WAITS, "all wait")
    time.sleep(2)
    began = time.monotonic()
    processes = [one for one in stage.processes if one.alive]
    before = [_seconds_of_cpu(one) for one in processes]
    time.sleep(QUIET)
    for one, spent in zip(processes, before, strict=True):
        calls = one.door.since(began)
        # Pods of earlier tests' runs may still be removed.
        others = [call for call in calls if not call.about_leases and "/pods/run-" not in call.path]
        assert len(others) <= MOST_BUT_LEASES, (one.identity, tally(others))
        assert len(calls) - len(others) <= MOST_ON_LEASES, (one.identity, tally(calls))
        assert _seconds_of_cpu(one) - spent <= MOST_SECONDS_OF_CPU, one.identity
    stage.cancel(name)
    assert stage.ends(name)["state"] == "Failed"

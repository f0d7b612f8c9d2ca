"""Deferred tasks cost nothing: fifty of them cause no requests and no CPU time."""

import os
import time
from collections import Counter
from pathlib import Path

from tests.integration.controller.recording_proxy import Call, tally
from tests.integration.controller.stage import ControllerFixture, ControllerProcess

WAITS, QUIET = 50, 20.0
# ConfigMaps are read every five and ten seconds, whatever the number of waits. On a busy machine the same work takes up
# to twice the CPU; a busy loop takes all that it gets.
MOST_OF_CONFIGMAPS, MOST_OTHERS, MOST_SECONDS_OF_CPU = 8, 2, 3.0
# A standby reads the Lease at least every 0.375 s: half of a sixteenth of 12 s. The renewals of the leader are fewer.
MOST_ON_LEASES = 60
SETTLED = 5.0
# A watch lasts five minutes and is then opened again. All that began together may end in the same seconds.
MOST_OF_A_WATCH = 2


def _seconds_of_cpu(process: ControllerProcess) -> float:
    fields = Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _periodic(call: Call) -> bool:
    return call.method == "GET" and "/configmaps" in call.path


def _others(process: ControllerProcess, since: float) -> list[Call]:
    """Requests that are for no Lease, no watch and no ConfigMap. Pods of earlier tests' runs may still be removed."""
    calls = (call for call in process.proxy.since(since) if not (call.about_leases or call.watch or _periodic(call)))
    return [call for call in calls if "/pods/run-" not in call.path]


def test_fifty_deferrals_cause_almost_no_requests_and_no_cpu_time(stage: ControllerFixture) -> None:
    wait = {"class": "duration", "kwargs": {"duration": "1h"}}
    name = stage.submit([{"name": f"wait_{number}", "trigger": wait} for number in range(WAITS)])
    stage.until(lambda: sum(task["deferred"] for task in stage.status(name).get("tasks", [])) == WAITS, "all wait")
    stage.until(
        lambda: not any(_others(process, time.monotonic() - SETTLED) for process in stage.processes), "all are quiet"
    )
    began = time.monotonic()
    processes = [process for process in stage.processes if process.alive]
    before = [_seconds_of_cpu(process) for process in processes]
    time.sleep(QUIET)
    for process, spent in zip(processes, before, strict=True):
        calls = process.proxy.since(began)
        others = _others(process, began)
        assert len(others) <= MOST_OTHERS, (process.identity, tally(others))
        assert sum(_periodic(call) for call in calls) <= MOST_OF_CONFIGMAPS, (process.identity, tally(calls))
        watches = Counter(call.path for call in calls if call.watch and not call.about_leases)
        assert max(watches.values(), default=0) <= MOST_OF_A_WATCH, (process.identity, watches)
        assert sum(call.about_leases for call in calls) <= MOST_ON_LEASES, (process.identity, tally(calls))
        assert _seconds_of_cpu(process) - spent <= MOST_SECONDS_OF_CPU, process.identity
    stage.cancel(name)
    assert stage.ends(name)["state"] == "Failed"

"""What the bench of attacks is built of: what is reckoned of the runs, the table, and the memory of a process."""

import asyncio
import json
import os
import sys
from typing import Any

import pytest

from benchmarks.attacks import memory, report
from benchmarks.attacks.bystander import latencies
from benchmarks.attacks.report import Latencies, Measurement, Phase

MEMORY = {"operator": 100.0, "triggerer": 60.0, "archive": 90.0}


def phase(*seconds: float, **more: Any) -> Phase:
    return Phase(latencies=Latencies(seconds=seconds, **more), memory=MEMORY, foreign=0.5)


def taken(attacked: Phase) -> Measurement:
    return Measurement(
        name="it", what="an attack", quiet=phase(0.1, 0.2, 0.4), attacked=attacked, said=("2 rounds", "over")
    )


def test_an_attack_is_told_in_quiet_latencies() -> None:
    found = taken(phase(0.3, 0.3, 0.8))
    assert found.ratio == pytest.approx(1.5)
    assert found.p95_ratio == pytest.approx(2.0)


def test_a_ratio_that_misses_the_goal_is_marked() -> None:
    assert "| 1.50 (2.00) |" in report.table([taken(phase(0.3, 0.3, 0.8))])
    assert "| **2.00 (2.00)** |" in report.table([taken(phase(0.4, 0.4, 0.8))])


def test_the_table_says_what_was_given_up_and_what_became_of_the_attack() -> None:
    row = report.table([taken(phase(0.3, 40.0, unfinished=1))]).splitlines()[-1]
    assert ", 1 of 2 given up |" in row
    assert row.endswith("| 2 rounds; over |")
    assert row.count("|") == report.table([]).splitlines()[0].count("|")


def test_the_json_has_the_runs_and_what_is_reckoned_of_them() -> None:
    (row,) = json.loads(report.written([taken(phase(0.3))], commit="c", at="t"))["attacks"]
    assert (row["ratio"], row["quiet_median"], row["attacked_p95"]) == (1.5, 0.2, 0.3)
    assert row["quiet"]["latencies"]["seconds"] == [0.1, 0.2, 0.4]
    assert row["attacked"]["memory"] == MEMORY


async def test_a_run_that_does_not_end_in_time_is_given_up() -> None:
    runs = iter([asyncio.sleep(0), asyncio.Event().wait()])

    async def run() -> None:
        await next(runs)

    found = await latencies(run, 5, 1.1)
    assert len(found.seconds) == 2
    assert found.unfinished == 1


async def test_the_peak_of_a_process_has_its_children_in_it() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "x = b'x' * 50_000_000; print(len(x), flush=True); input()", stdin=-1, stdout=-1
    )
    assert child.stdout is not None
    await child.stdout.readline()
    async with memory.peaks({"me": os.getpid(), "child": child.pid}) as peaks:
        pass
    assert child.pid in memory.tree(os.getpid())
    await child.communicate(b"\n")
    found = peaks.mib()
    assert found["me"] > found["child"] > 50
    assert not memory.alive(child.pid)

"""What the triggerer's bench is built of: waits as they are stored, what is reckoned, and how it is told."""

import asyncio
import json
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from torpor_wire import constants, times, trigger

from benchmarks.triggerer import airflow, bare, classes, environment, figures, usage
from benchmarks.triggerer.etcd import Etcd
from benchmarks.triggerer.figures import Figure
from benchmarks.triggerer.observer import Observer, Seen
from benchmarks.triggerer.waits import Waits, WaitSpec

SAMPLE: dict[str, Any] = {
    "apiVersion": constants.API_VERSION,
    "kind": "TaskRun",
    "metadata": {
        "name": "sample",
        "namespace": "torpor-bench",
        "uid": "u",
        "creationTimestamp": "2026-11-21T12:00:00Z",
    },
    "spec": {"workflow": {"name": "w", "uid": "u"}, "task": "t", "image": "i", "python": "m:f"},
    "status": {"state": "Deferred", "next": {"method": "m:f", "kwargs": "{}"}},
}


class Noting(Etcd):
    """Notes what it is asked for, and does nothing."""

    def __init__(self) -> None:
        self.transactions: list[list[dict[str, Any]]] = []
        self._room = asyncio.Semaphore(1)

    async def _ask(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.transactions.append(list(body["success"]))
        return {}

    @property
    def stored(self) -> list[dict[str, Any]]:
        puts = [one["request_put"] for each in self.transactions for one in each]
        return [json.loads(b64decode(one["value"])) for one in puts]


class Calm:
    """A plane with nothing in it but etcd."""

    def __init__(self) -> None:
        self.etcd = Noting()

    async def calm(self) -> None:
        pass


def waits() -> tuple[Waits, Noting]:
    plane = Calm()
    return Waits(plane=plane, sample=SAMPLE), plane.etcd  # type: ignore[arg-type]


async def test_a_copy_waits_for_its_own_trigger_in_the_shard_of_its_key() -> None:
    all_waits, etcd = waits()
    made = await all_waits.add(environment.sleeping(2))
    one, other = etcd.stored
    assert {one["metadata"]["name"], other["metadata"]["name"]} == set(made) == all_waits.names
    assert one["metadata"]["uid"] != other["metadata"]["uid"]
    found = one["status"]["trigger"]
    kwargs = json.loads(found["kwargs"])
    key = trigger.key("sleeps", kwargs, namespace="torpor-bench", pool=constants.DEFAULT_POOL)
    assert (found["key"], found["shard"]) == (key, trigger.shard(key))


async def test_while_somebody_watches_each_wait_has_a_revision_of_its_own() -> None:
    for live, transactions in ((True, 150), (False, 2)):
        all_waits, etcd = waits()
        await all_waits.add(environment.sleeping(150), live=live)
        assert len(etcd.transactions) == transactions


def test_waits_due_at_one_moment_are_all_different() -> None:
    asked = environment.timers(environment.at_once(1_800_000_000.0, 5_000))
    assert len({json.dumps(one.kwargs) for one in asked}) == 5_000
    assert times.epoch(asked[-1].kwargs["at"]) == pytest.approx(1_800_000_000.004999)


def test_duplicates_ask_for_the_same() -> None:
    asked = environment.counting(20, 12, every=10.0)
    assert len(asked) == 20
    assert len({one.kwargs["number"] for one in asked}) == 12


async def test_what_is_due_is_known_by_name() -> None:
    all_waits, _ = waits()
    asked = [WaitSpec(class_name="time", kwargs={"at": f"2100-01-01T00:00:0{n}Z"}, due=float(n)) for n in range(3)]
    made = await all_waits.add(asked)
    assert environment.due(asked, made) == dict(zip(made, (0.0, 1.0, 2.0), strict=True))


def test_a_steady_stream_has_its_rate() -> None:
    moments = list(environment.evenly(100.0, 50.0, 2.0))
    assert (len(moments), moments[0]) == (100, 100.0)
    assert moments[-1] == pytest.approx(101.98)


async def test_the_last_that_was_seen_ends_a_burst() -> None:
    observer = Observer()
    for at in (3.0, 1.0):
        observer.note(f"at-{at}", Seen(at=at, fired_at=at))
    assert await observer.reach(2) == 3.0


def test_the_work_of_the_bare_client_survives_its_file() -> None:
    given = {"url": "u", "authority": "a", "token": "t", "concurrency": 2, "watch": "w"}
    work = bare.Work(**given, patches=[bare.Patch(1.5, "p", "b")])  # type: ignore[arg-type]
    read = bare.Work(**json.loads(json.dumps(asdict(work))))
    assert [bare.Patch(*one) for one in read.patches] == work.patches


def test_looks_are_counted_over_all_processes(tmp_path: Path) -> None:
    look = (
        f"from benchmarks.triggerer import classes\nfor _ in range(3): {classes.__name__.rpartition('.')[2]}._count()"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", look], env=os.environ | {classes.LOOKS: str(tmp_path)}, check=True)
    assert classes.looks(tmp_path) == 6


def test_a_process_is_measured_with_its_children() -> None:
    alone = usage.of(os.getpid())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        both = usage.of(os.getpid())
        assert usage.of(child.pid).rss > 0
    assert alone.cpu > 0
    assert both.pss > alone.pss


def test_the_table_has_a_column_for_another_and_leaves_out_what_it_does_not_say() -> None:
    taken = [
        Figure(name="failover_5000", what="kill -9", value=17.46, unit="s", goal="20 s", aside="2,555 had to move"),
        Figure(name="failover_70", what="kill -9 of few", value=1234.5, unit="ms"),
    ]
    head, beside = airflow.column(None)
    lines = figures.table(taken, head, beside).splitlines()
    assert lines[0].split(" | ")[-1] == f"{head} |"
    assert lines[2] == "| kill -9 | 17.5 s (2,555 had to move) | 20 s | 46 s |"
    assert lines[3] == "| kill -9 of few | 1,234 ms |  |  |"
    assert json.loads(figures.written(taken, commit="c", taken="t"))["figures"][1]["value"] == 1234.5


def test_an_airflow_that_was_measured_takes_the_place_of_the_quoted_one(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text('{"failover_5000": "31 s"}')
    head, beside = airflow.column(tmp_path / "own.json")
    assert ("quoted" in head, beside["failover_5000"]) == (False, "31 s")


@pytest.mark.parametrize(("share", "value"), [(0.5, 51), (0.99, 100), (1.0, 100), (0.0, 1)])
def test_a_quantile_is_one_of_the_values(share: float, value: int) -> None:
    assert figures.quantile(range(1, 101), share) == value

"""Scans are shared by the viewers of one identity, and never with another."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from torpor_ui.cluster.caller import Caller
from torpor_ui.errors import ProblemError
from torpor_ui.feeds import scans
from torpor_ui.feeds.scans import Scans


def caller(key: str) -> Caller:
    return cast("Caller", SimpleNamespace(key=key))


class FakeScan:
    """Counts how often it runs; fails if told so."""

    def __init__(self, *, fails: bool = False) -> None:
        self.runs = 0
        self.fails = fails

    async def __call__(self) -> int:
        self.runs += 1
        await asyncio.sleep(0)
        if self.fails:
            raise RuntimeError("no")
        return self.runs


async def test_a_result_is_kept_for_a_moment() -> None:
    now, scan = [0.0], FakeScan()
    kept = Scans(lambda: now[0])
    both = await asyncio.gather(kept.get(caller("a"), "x", scan), kept.get(caller("a"), "x", scan))
    assert list(both) == [1, 1]
    now[0] = scans.KEPT_SECONDS - 1
    assert await kept.get(caller("a"), "x", scan) == 1
    now[0] = scans.KEPT_SECONDS
    assert await kept.get(caller("a"), "x", scan) == 2


@pytest.mark.attack
async def test_another_identity_scans_itself() -> None:
    kept, scan = Scans(), FakeScan()
    assert [await kept.get(caller(key), "x", scan) for key in "ab"] == [1, 2]


async def test_an_error_is_not_kept() -> None:
    kept, scan = Scans(), FakeScan(fails=True)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            await kept.get(caller("a"), "x", scan)
    assert scan.runs == 2


async def test_who_has_changed_something_gets_a_new_result() -> None:
    kept, scan = Scans(), FakeScan()
    await kept.get(caller("a"), "x", scan)
    await kept.get(caller("b"), "x", scan)
    kept.forget(caller("a"))
    assert [await kept.get(caller(key), "x", scan) for key in "ab"] == [3, 2]


async def test_a_viewer_who_leaves_does_not_end_the_scan_of_others() -> None:
    kept, scan = Scans(), FakeScan()
    first = asyncio.create_task(kept.get(caller("a"), "x", scan))
    second = asyncio.create_task(kept.get(caller("a"), "x", scan))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 1


async def test_a_long_scan_is_kept_for_longer() -> None:
    now = [0.0]
    kept = Scans(lambda: now[0])

    async def slow() -> Any:
        now[0] += 30.0
        return now[0]

    assert await kept.get(caller("a"), "x", slow) == 30.0
    now[0] += 200.0
    assert await kept.get(caller("a"), "x", slow) == 30.0


@pytest.mark.attack
async def test_an_identity_runs_a_few_scans_at_once() -> None:
    kept, release = Scans(), asyncio.Event()
    running = [asyncio.create_task(kept.get(caller("a"), str(n), release.wait)) for n in range(scans.RUNNING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(ProblemError, match="overviews are read for you now"):
        await kept.get(caller("a"), "more", FakeScan())
    assert await kept.get(caller("b"), "more", FakeScan()) == 1
    release.set()
    assert await asyncio.gather(*running) == [True] * scans.RUNNING_MAX


async def test_a_scan_that_runs_during_a_change_is_not_kept() -> None:
    kept, release, scan = Scans(), asyncio.Event(), FakeScan()
    before = asyncio.create_task(kept.get(caller("a"), "x", release.wait))
    await asyncio.sleep(0)
    kept.forget(caller("a"))
    assert await kept.get(caller("a"), "x", scan) == 1
    release.set()
    assert await before is True
    assert await kept.get(caller("a"), "x", scan) == 1


@pytest.mark.attack
async def test_scans_that_were_forgotten_while_they_run_count() -> None:
    kept, release = Scans(), asyncio.Event()
    running: list[asyncio.Task[bool]] = []
    for number in range(scans.RUNNING_MAX):
        running.append(asyncio.create_task(kept.get(caller("a"), str(number), release.wait)))
        await asyncio.sleep(0)
        kept.forget(caller("a"))
    with pytest.raises(ProblemError, match="overviews are read for you now"):
        await kept.get(caller("a"), "more", FakeScan())
    release.set()
    await asyncio.gather(*running)
    assert await kept.get(caller("a"), "more", FakeScan()) == 1

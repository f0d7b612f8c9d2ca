"""What a child and a share may use: memory, and processor time before others are served first."""

import asyncio
import resource
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from torpor_expressions.errors import ExpressionReason
from torpor_expressions.evaluator import Evaluator
from torpor_expressions.value import Value

from tests.unit.expressions.attacks import DOUBLING, SLOW, children, good, note_strangers, reason

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")


@pytest_asyncio.fixture
async def evaluator() -> AsyncIterator[Evaluator]:
    async with Evaluator(seconds=20) as pool:
        yield pool


@pytest.fixture(autouse=True)
def _strangers() -> None:
    note_strangers()


@pytest.mark.parametrize(
    ("expression", "variables"),
    [
        ("'%s%s%s%s%s%s%s%s'.format([s, s, s, s, s, s, s, s]).replace('', s).size()", {"s": "x" * 400_000}),
        ("s.split('').map(x, s.split('')).size()", {"s": "ab" * 20_000}),
        (DOUBLING, {"s": ["x" * 1000]}),
    ],
)
async def test_a_child_takes_no_more_than_128_mib(
    evaluator: Evaluator, expression: str, variables: dict[str, Any]
) -> None:
    assert await good(evaluator)
    limits = [resource.prlimit(child, resource.RLIMIT_AS) for child in children()]
    assert limits
    assert set(limits) == {(128 * 1024**2, 128 * 1024**2)}
    outcome = await evaluator.evaluate(expression, variables)
    assert reason(outcome) is ExpressionReason.TOO_EXPENSIVE
    assert "memory" in str(outcome)
    assert await good(evaluator)


async def test_values_of_more_than_four_megabytes_are_refused_and_never_sent(evaluator: Evaluator) -> None:
    outcome = await evaluator.evaluate("l.size()", {"l": ["x" * 1000] * 5000})
    assert reason(outcome) is ExpressionReason.TOO_EXPENSIVE
    assert "4,096 kB are allowed" in str(outcome)


async def test_slow_expressions_of_one_share_do_not_hold_up_those_of_another() -> None:
    async with Evaluator(budget=0.5) as pool:
        slow = [asyncio.ensure_future(pool.evaluate(SLOW, {"s": "ab" * 800}, share="loud")) for _ in range(40)]
        await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
        for index in range(20):
            outcome = await pool.evaluate("params.x + 1", {"params": {"x": index}}, share="quiet")
            assert outcome == Value(json=index + 1)
        # All of them had asked before the quiet one did, and the quiet one asked twenty times, one after the other.
        assert sum(not task.done() for task in slow) > 10
        await asyncio.gather(*slow)


async def test_a_share_is_charged_for_what_its_expressions_used(caplog: pytest.LogCaptureFixture) -> None:
    async with Evaluator(children=1, budget=0.04) as pool:
        assert await good(pool)
        assert caplog.messages == []
        await pool.evaluate(SLOW, {"s": "ab" * 2400}, share="loud")
        await pool.evaluate("1", {}, share="loud")
    (message,) = caplog.messages
    assert message.startswith("loud: expressions used more than 0.04 s of CPU time in a minute")


async def test_the_next_share_is_not_charged_for_the_restart_of_a_filled_child() -> None:
    async with Evaluator(children=1, budget=0.4) as pool:
        assert (
            reason(await pool.evaluate(DOUBLING, {"s": ["x" * 1000]}, share="loud")) is ExpressionReason.TOO_EXPENSIVE
        )
        assert await pool.evaluate("1", {}, share="quiet") == Value(json=1)
        used = {name: share.used for name, share in pool._queue._shares.items()}
    assert used.get("quiet", 0.0) < used["loud"]


async def test_a_child_serves_on_whatever_memory_its_parent_has() -> None:
    ballast = bytearray(200 * 1024**2)
    async with Evaluator(children=1) as pool:
        assert await good(pool)
        first = children()
        assert await good(pool)
        assert children() == first != []
    del ballast

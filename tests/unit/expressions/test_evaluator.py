"""The pool of children: what attacks end as, and that nobody else notices."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from torpor_expressions import evaluator as module
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.evaluator import Evaluator, EvaluatorUnavailable, InProcess
from torpor_expressions.value import JSON, Value

from tests.unit.expressions.attacks import DOUBLING, SLOW, children, good, note_strangers, reason

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")


@pytest_asyncio.fixture
async def evaluator() -> AsyncIterator[Evaluator]:
    async with Evaluator() as pool:
        yield pool


@pytest.fixture(autouse=True)
def _strangers() -> None:
    note_strangers()


def alive(process: Path) -> bool:
    """Whether there is such a process and it is no zombie, which nobody may collect here."""
    return process.exists() and (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def test_a_value_comes_back(evaluator: Evaluator) -> None:
    json: JSON = {"a": [1, 1.0, None, "é😀"], "b": {}}
    assert await evaluator.evaluate("params", {"params": json}) == Value(json=json)


async def test_the_same_is_said_as_in_this_process(evaluator: Evaluator) -> None:
    for expression in (
        "params.nope",
        "1 +",
        "nope",
        "params.map(k, k)",
        "1.0 / 0.0",
        "x" * 2000,
        "params == {'x': 1.0}",
    ):
        variables: dict[str, Any] = {"params": {"x": 1, "y": None}}
        assert await evaluator.evaluate(expression, variables) == await InProcess().evaluate(expression, variables)


@pytest.mark.parametrize(
    ("expression", "variables"),
    [
        ("l.all(a, l.all(b, a + b >= 0))", {"l": list(range(1000))}),
        ("l.map(a, l.map(b, s + string(a))).size()", {"l": list(range(99)), "s": "x" * 50_000}),
        (DOUBLING, {"s": ["x" * 1000]}),
        (DOUBLING.replace("s", "[[0, 1, 2, 3]]", 1), {}),
        ("l.map(a, a).map(a, a)", {"l": list(range(9_000))}),
        ("s", {"s": "x" * 70_000}),
        ("l", {"l": [None] * 20_000}),
        ("s.matches('((a{0,99}){0,99}){0,99}') || [s].all(x, [x].all(y, [y].all(z, true)))", {"s": "a" * 9000}),
        (SLOW, {"s": "ab" * 4000}),
        ("'%s'.format([s])" + ".replace('', s)" * 3, {"s": "x" * 2000}),
    ],
)
async def test_attacks_are_too_expensive_and_the_next_is_served(
    evaluator: Evaluator, expression: str, variables: dict[str, Any]
) -> None:
    assert reason(await evaluator.evaluate(expression, variables)) is ExpressionReason.TOO_EXPENSIVE
    assert await good(evaluator)


@pytest.mark.parametrize(
    ("expression", "variables"),
    [
        ("s.matches('(a+)+$')", {"s": "a" * 40_000 + "b"}),
        ("s.matches('(a|a)*b(.*)*c')", {"s": "a" * 5000 + "b" * 5000}),
        ("s.matches('((x*)*)*y')", {"s": "x" * 50_000}),
    ],
)
async def test_regular_expressions_do_not_backtrack(
    evaluator: Evaluator, expression: str, variables: dict[str, Any]
) -> None:
    assert await evaluator.evaluate(expression, variables) == Value(json=False)


async def test_values_nested_too_deep_are_refused(evaluator: Evaluator) -> None:
    for depth in (500, 900, 50_000):
        json: Any = 1
        for _ in range(depth):
            json = [json]
        outcome = await evaluator.evaluate("l", {"l": json})
        assert reason(outcome) is ExpressionReason.FAILED or outcome == Value(json=json)
        assert await good(evaluator)


async def test_half_a_surrogate_pair_is_refused(evaluator: Evaluator) -> None:
    assert reason(await evaluator.evaluate("s", {"s": "\ud800"})) is ExpressionReason.FAILED


async def test_a_request_that_cannot_be_sent_fails_and_the_next_is_served(evaluator: Evaluator) -> None:
    for _ in range(3):
        assert reason(await evaluator.evaluate("s", {"s": cast("JSON", object())})) is ExpressionReason.FAILED
    assert await good(evaluator)


async def test_an_attack_disturbs_no_other_evaluation(evaluator: Evaluator) -> None:
    attacks = [evaluator.evaluate(DOUBLING, {"s": ["x" * 1000]}) for _ in range(3)]
    others = [evaluator.evaluate("params.x + 1", {"params": {"x": index}}) for index in range(200)]
    outcomes = await asyncio.gather(*attacks, *others)
    assert [reason(outcome) for outcome in outcomes[:3]] == [ExpressionReason.TOO_EXPENSIVE] * 3
    assert outcomes[3:] == [Value(json=index + 1) for index in range(200)]


async def test_what_takes_too_long_is_stopped_by_the_child_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE_SECONDS", 1000)
    async with asyncio.timeout(180), Evaluator(children=1, seconds=0.2, memory_bytes=8 * 1024**3) as pool:
        outcome = await pool.evaluate(SLOW, {"s": "ab" * 20_000})
        message = f"the expression took longer than 0.2 s; in {SLOW}"
        assert outcome == ExpressionError(reason=ExpressionReason.TOO_EXPENSIVE, message=message)
        assert await good(pool)


async def test_a_child_that_is_killed_is_replaced_and_its_evaluation_repeated() -> None:
    async with Evaluator(children=1) as pool:
        assert await good(pool)
        for sent in (signal.SIGKILL, signal.SIGSEGV):
            (child,) = children()
            os.kill(child, sent)
            assert await good(pool)


async def test_a_child_that_crashes_each_time_fails_only_its_expression(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from torpor_expressions import evaluation as e; import os\n"
        "real = e.evaluate\n"
        "e.evaluate = lambda x, v: os.abort() if x == '666' else real(x, v)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    async with Evaluator(children=1) as pool:
        outcome = await pool.evaluate("666", {})
        assert outcome == ExpressionError(
            reason=ExpressionReason.FAILED, message="the expression crashed the CEL library; in 666"
        )
        assert await good(pool)


async def test_a_stopped_child_is_replaced_and_its_evaluation_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE_SECONDS", 5.0)
    async with Evaluator(children=1, seconds=1.0) as pool:
        assert await good(pool)
        (child,) = children()
        os.kill(child, signal.SIGSTOP)
        assert await good(pool)


async def test_an_expression_whose_children_never_answer_is_too_expensive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from torpor_expressions import evaluation as e; import time\n"
        "real = e.evaluate\n"
        "e.evaluate = lambda x, v: time.sleep(3600) if x == '666' else real(x, v)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(module, "_GRACE_SECONDS", 0.1)
    async with Evaluator(children=1, seconds=0.1) as pool:
        assert reason(await pool.evaluate("666", {})) is ExpressionReason.TOO_EXPENSIVE


async def test_cancelled_evaluations_leave_the_children_whole(evaluator: Evaluator) -> None:
    assert await good(evaluator)
    waiting = [asyncio.ensure_future(evaluator.evaluate("l.map(a, a).size()", {"l": [0] * 900})) for _ in range(20)]
    await asyncio.sleep(0.02)
    for task in waiting:
        task.cancel()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) or outcome == Value(json=900) for outcome in outcomes)
    assert all([await good(evaluator) for _ in range(10)])


async def test_closing_leaves_no_process_and_no_task() -> None:
    before = asyncio.all_tasks()
    async with Evaluator(children=3, memory_bytes=8 * 1024**3) as pool:
        assert await good(pool)
        abandoned = asyncio.ensure_future(pool.evaluate(SLOW, {"s": "ab" * 20_000}))
        await asyncio.sleep(0.05)
    assert children() == []
    with pytest.raises(asyncio.CancelledError):
        await abandoned
    assert asyncio.all_tasks() == before


async def test_children_end_when_their_parent_is_gone() -> None:
    code = (
        "import asyncio, os, torpor_expressions.evaluator as m\n"
        "async def main():\n"
        "    async with m.Evaluator(children=1) as pool:\n"
        "        await pool.evaluate('1', {})\n"
        "        print(pool._workers and open('/proc/self/task/%d/children' % os.getpid()).read(), flush=True)\n"
        "        os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    output, _ = await parent.communicate()
    child = Path("/proc") / output.decode().strip()
    for _ in range(5000):
        if not alive(child):
            return
        await asyncio.sleep(0.02)
    pytest.fail("the child lives on")


async def test_where_no_child_can_start_that_is_no_fault_of_the_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    async with Evaluator(children=1) as pool:
        with pytest.raises(EvaluatorUnavailable):
            await pool.evaluate("1", {})
    monkeypatch.setattr(sys, "executable", "/bin/false")
    async with Evaluator(children=1) as pool:
        with pytest.raises(EvaluatorUnavailable):
            await pool.evaluate("1", {})


async def test_a_child_gets_no_signals_of_the_terminal() -> None:
    async with Evaluator(children=1) as pool:
        assert await good(pool)
        (child,) = children()
        assert os.getpgid(child) == child


async def test_a_child_inherits_no_open_file() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        async with Evaluator(children=1) as pool:
            assert await good(pool)
            (child,) = children()
            assert {int(fd.name) for fd in (Path("/proc") / str(child) / "fd").iterdir()} == {0, 1, 2}
    finally:
        os.close(reading)
        os.close(writing)

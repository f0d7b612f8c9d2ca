"""Whose code runs in a loop, as it is seen from outside of it."""

import asyncio
import subprocess
import sys

import pytest
from torpor_triggerer.usercode import attribution
from torpor_triggerer.usercode.attribution import Attribution, StackSample

MARK = Attribution(class_name="odd", subject="one")


class SampledTrigger:
    async def looks(self) -> StackSample | None:
        return attribution.read(sys._getframe())

    async def looks_after_a_while(self) -> StackSample | None:
        await asyncio.sleep(0)
        return self.look()

    def look(self) -> StackSample | None:
        return attribution.read(sys._getframe())

    async def looks_in_a_task(self) -> StackSample | None:
        return await asyncio.wait_for(self.looks_after_a_while(), 60)

    async def exits_in_a_task(self) -> None:
        await asyncio.wait_for(self.exits(), 60)

    async def exits(self) -> None:
        await asyncio.sleep(0)
        sys.exit(3)


def seen(sight: StackSample | None) -> tuple[object, set[type], str]:
    assert sight is not None
    return sight.mark.subject, set(sight.types), sight.places[0].function


async def test_a_strangers_code_is_seen_as_theirs_and_where_it_is() -> None:
    sight = await attribution.running(MARK, SampledTrigger().looks_after_a_while())
    assert seen(sight) == ("one", {SampledTrigger}, "SampledTrigger.look")
    assert sight is not None
    assert str(sight.places[0]).startswith("test_attribution.py:")


async def test_so_is_what_it_calls_at_once_and_what_its_tasks_do() -> None:
    asyncio.get_running_loop().set_task_factory(attribution.factory)
    assert seen(attribution.call(MARK, SampledTrigger().look)) == ("one", {SampledTrigger}, "SampledTrigger.look")
    assert seen(await attribution.running(MARK, SampledTrigger().looks_in_a_task())) == (
        "one",
        {SampledTrigger},
        "SampledTrigger.look",
    )


async def test_code_without_a_mark_is_not_attributed_even_afterwards() -> None:
    asyncio.get_running_loop().set_task_factory(attribution.factory)
    assert await SampledTrigger().looks() is None
    await attribution.running(MARK, SampledTrigger().looks_in_a_task())
    assert await SampledTrigger().looks_in_a_task() is None


async def test_no_two_steps_are_the_same() -> None:
    first = attribution.call(MARK, SampledTrigger().look)
    second = attribution.call(MARK, SampledTrigger().look)
    assert first is not None
    assert second is not None
    assert first.step is not second.step


async def test_a_library_task_that_exits_fails_and_the_loop_goes_on() -> None:
    asyncio.get_running_loop().set_task_factory(attribution.factory)
    with pytest.raises(attribution.ExitedError, match="SystemExit: 3"):
        await attribution.running(MARK, SampledTrigger().exits_in_a_task())


async def test_a_task_that_is_cancelled_before_it_begins_leaves_nothing_behind() -> None:
    asyncio.get_running_loop().set_task_factory(attribution.factory)

    async def changes_its_mind() -> None:
        task = asyncio.create_task(SampledTrigger().looks_after_a_while())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await attribution.running(MARK, changes_its_mind())


_ENDS_WHILE_SAMPLED = """
import gc, sys, threading
from torpor_triggerer.usercode import attribution

def sample(threshold):
    entered, leave = threading.Event(), threading.Event()

    class Work:
        def run(self):
            entered.set()
            leave.wait()

    def collected(phase, info):
        if phase == "start" and sys._getframe(1).f_code.co_filename == attribution.__file__:
            leave.set()
            thread.join()

    thread = threading.Thread(target=Work().run)
    thread.start()
    entered.wait()
    frame = sys._current_frames()[thread.ident]
    held = [{} for _ in range(1000)]  # more than the interpreter reuses
    gc.callbacks.append(collected)
    gc.set_threshold(threshold)
    attribution.read(frame)
    gc.set_threshold(700)
    gc.callbacks.remove(collected)
    assert gc.isenabled()
    leave.set()
    thread.join()

for threshold in range(1, 20):
    sample(threshold)
"""


def test_code_may_end_in_a_garbage_collection_while_its_stack_is_sampled() -> None:
    ended = subprocess.run([sys.executable, "-c", _ENDS_WHILE_SAMPLED], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")

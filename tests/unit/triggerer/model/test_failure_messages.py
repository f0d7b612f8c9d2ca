"""The message of a trigger that raised names the trigger's own line, and the library's beside it."""

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from torpor.triggers import BaseTrigger
from torpor.triggers.composite import PartFailedError
from torpor.triggers.workflow_end import RunFailedError
from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Failed
from torpor_triggerer.usercode import invoke
from torpor_wire.reason import Reason


class Parses:
    async def run(self) -> AsyncIterator[object]:
        yield json.loads("{")


class Polls(BaseTrigger):
    async def poll(self) -> object:
        return json.loads("{")


class Looks(BaseTrigger):
    blocking = True

    def poll(self) -> object:
        return json.loads("{")


class Threads:
    async def in_thread(self, work: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, work)


async def message_of(trigger: Any) -> str:
    trigger.services = Threads()
    ended = await invoke.first_event(trigger)
    assert isinstance(ended, Failed)
    return ended.message


@pytest.mark.parametrize(
    ("trigger", "place"),
    [(Parses(), "run"), (Polls(), "poll"), (Looks(), "poll")],
)
async def test_a_failure_names_the_line_of_the_authors_trigger(trigger: Any, place: str) -> None:
    message = await message_of(trigger)
    assert " (at test_failure_messages.py:" in message
    assert f" in {place}, raised in decoder.py:" in message


def test_a_run_that_failed_is_told_without_lines_of_code() -> None:
    failed = outcome.from_exception(RunFailedError("Workflow x has failed: Error: task a: exit code 2"))
    assert failed.message == "Workflow x has failed: Error: task a: exit code 2"
    assert (failed.reason, failed.log) == (Reason.TRIGGER_FAILED, "")
    assert (failed.details.exception or "").endswith("RunFailedError")


def test_a_failed_part_of_all_of_names_the_line_of_that_part() -> None:
    failed = PartFailedError("triggers[0] (own): boom")
    try:
        json.loads("{")
    except ValueError as error:
        failed.__cause__ = error
    assert "test_failure_messages.py" in outcome.from_exception(failed).message

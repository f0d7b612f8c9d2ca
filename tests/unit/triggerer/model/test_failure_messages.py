"""The message of a trigger that raised names the trigger's own line, and the library's beside it."""

import json

from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Failed


class Parses:
    async def run(self) -> object:
        return json.loads("{")


async def raised_by(trigger: Parses) -> Failed:
    try:
        await trigger.run()
    except ValueError as error:
        return outcome.from_exception(error)
    raise AssertionError("it raises")


async def test_a_library_that_raises_does_not_hide_the_triggers_own_line() -> None:
    message = (await raised_by(Parses())).message
    assert " (at test_failure_messages.py:11 in run, raised in decoder.py:" in message

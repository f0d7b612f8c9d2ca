"""A trigger class whose module takes over the logging of the process, at import and again when it runs."""

import logging
import logging.config
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from torpor.triggers import BaseTrigger, TriggerEvent

EARLY = logging.getLogger("taken.over.early")


class Divert(logging.Logger):
    """Handles records by itself."""

    def callHandlers(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        sys.__stderr__.write(f"diverted {record.getMessage()}\n")  # type: ignore[union-attr]


def take_over() -> None:
    """All that a library may do, and more."""
    logging.setLoggerClass(Divert)
    logging.getLogger(f"taken.over.diverted{len(logging.Logger.manager.loggerDict)}")
    logging.getLogger("taken.over.diverted")
    logging.basicConfig(force=True, level=logging.ERROR, format="taken over %(message)s")
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": True,
            "formatters": {"plain": {"format": "taken over %(message)s"}},
            "handlers": {"out": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout", "formatter": "plain"}},
            "loggers": {
                "taken.over": {"handlers": ["out"], "propagate": False, "level": "DEBUG"},
                "torpor_triggerer": {"level": "CRITICAL"},
            },
            "root": {"handlers": ["out"], "level": "WARNING"},
        }
    )
    logging.getLogger().handlers = [logging.StreamHandler(sys.__stdout__)]
    sys.stdout = open(1, "w", closefd=False, buffering=1)  # noqa: SIM115 - past whatever there was
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115 - past whatever there was
    logging.disable(logging.CRITICAL)


take_over()


class TakesOver(BaseTrigger):
    """Says what it was given in every way, once a file is there; takes over again before, if asked to."""

    def __init__(self, given: str, path: str, *, again: bool = False) -> None:
        self.given = given
        self.path = path
        if again:
            take_over()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Say it, then fire."""
        while not Path(self.path).exists():  # noqa: ASYNC240 - a local file
            await self.services.sleep(0.2)
        say(self.given)
        yield TriggerEvent("said")


def say(given: str) -> None:
    """In every way."""
    EARLY.info("early says %s", given)
    logging.getLogger("taken.over.late").warning("late says %s", given)
    logging.getLogger("taken.over.diverted").warning("diverted says %s", given)
    logging.getLogger().warning("root says %s", given)
    print("print says", given)  # noqa: T201 - as a trigger class may
    print("stderr says", given, file=sys.stderr)  # noqa: T201 - as a trigger class may
    print("dunder says", given, file=sys.__stdout__)
    sys.stdout.buffer.write(f"buffer says {given}\n".encode())
    structlog: Any = sys.modules.get("structlog")
    if structlog is not None:
        structlog.get_logger("s").info("structlog says", given=given)

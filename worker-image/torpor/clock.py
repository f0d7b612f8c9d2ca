"""The wall clock of a task: the system's, plus the time that a local run has skipped (ADR 0039)."""

import os
import time

from torpor_wire import constants


def now() -> float:
    """Return the seconds since the epoch."""
    return time.time() + float(os.environ.get(constants.ENV_CLOCK_OFFSET) or 0.0)

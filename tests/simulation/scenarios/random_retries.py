"""Rules of retries, and tasks that may fail: drawn apart, so that the other simulations stay what they were."""

import random
from collections.abc import Callable, Mapping
from typing import Any

Object = dict[str, Any]

RULES: Mapping[str, Callable[[Object], bool]] = {
    "attempt < 2": lambda status: status["attempt"] < 2,
    "reason != 'Lost'": lambda status: status.get("reason") != "Lost",
    "exception == ''": lambda status: not status.get("exception"),
    "exitCode == 3 || attempt == 1": lambda status: status.get("exitCode") == 3 or status["attempt"] == 1,
}
"""Expressions of `retries.when`, and what each means."""
_RULES = 0.3
"""Of the tasks with retries."""
_MAY_FAIL = 0.15
"""Of the tasks."""


def arrange(rng: random.Random, tasks: list[Object]) -> None:
    """Add rules to some retries, and let some tasks fail."""
    for task in tasks:
        if "retries" in task and rng.random() < _RULES:
            rule = {"when": rng.choice([*RULES])} if rng.random() < 0.7 else {"for": rng.choice(("2s", "10s"))}
            task["retries"] = task["retries"] | rule
        if "hook" not in task and rng.random() < _MAY_FAIL:
            task["mayFail"] = True

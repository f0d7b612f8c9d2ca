"""A translated example: its file with images that this machine has, and what a run of it must show."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
FAILED, SKIPPED, UPSTREAM_FAILED = "Failed", "Skipped", "UpstreamFailed"
PUBLIC_IMAGES = re.compile(r"\b(?:busybox|python|bash):[\w.-]+")
"""The images of the examples. No test can pull them."""


@dataclass(frozen=True, slots=True)
class Unsuccessful:
    """How tasks ended that did not succeed."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a run of an example shows.

    `tasks` has a result by task, or how the task ended. `{run}` in a text is the name of the run. `others` are further
    outcomes, of a run that depends on chance. `options` are those of `torpor run`, and `{url}` is a server that answers
    `ok`.
    """

    tasks: Mapping[str, Any]
    others: Sequence[Mapping[str, Any]] = ()
    state: str = "Succeeded"
    attempts: Mapping[str, int] = field(default_factory=dict)
    options: Sequence[str] = ()


def manifest(path: str, image: str) -> str:
    """Return the text of an example with this image instead of public ones."""
    return PUBLIC_IMAGES.sub(image, (ROOT / "examples" / path).read_text())


def named(expected: Any, run: str) -> Any:
    """Return expected results with the name of the run."""
    match expected:
        case str():
            return expected.replace("{run}", run)
        case dict():
            return {key: named(value, run) for key, value in expected.items()}
        case _:
            return expected


def observed(workflow: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of each task that succeeded, and how the others ended."""
    tasks = {task["name"]: task["state"] for task in workflow["status"]["tasks"]}
    return {name: results.get(name) if state == "Succeeded" else Unsuccessful(state) for name, state in tasks.items()}


def attempts(taskruns: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of the last attempt of each task."""
    return {run["spec"]["task"]: run["status"]["attempt"] for run in taskruns}

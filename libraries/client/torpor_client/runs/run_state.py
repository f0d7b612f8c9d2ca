"""The state of a run in one word. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from torpor_client import errors


class RunWord(StrEnum):
    """What commands and page show as the state of a run. Unlike `status.state`, it tells Cancelled from Failed."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    CANCELLING = "Cancelling"
    FINISHING = "Finishing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


ENDED = frozenset({RunWord.SUCCEEDED, RunWord.FAILED, RunWord.CANCELLED})


def word_of(workflow: Mapping[str, Any]) -> str:
    """Return the state of a Workflow. A word that this version does not know is returned as it is."""
    status = workflow.get("status") or {}
    state = str(status.get("state") or RunWord.PENDING)
    verdict = condition(workflow, "Succeeded")
    if state == RunWord.FAILED and verdict.get("reason") == "Cancelled":
        return RunWord.CANCELLED
    return state


def has_ended(workflow: Mapping[str, Any]) -> bool:
    """Whether the run has ended and the status describes the current spec."""
    status = workflow.get("status") or {}
    cleared = (workflow["metadata"].get("annotations") or {}).get("torpor.dev/clear")
    return bool(status.get("completionTime")) and word_of(workflow) in ENDED and not cleared


def condition(workflow: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return a condition of the status, an empty mapping without one."""
    conditions = (workflow.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), {})


def message_of(workflow: Mapping[str, Any]) -> str:
    """Return why a run failed, empty if it did not."""
    verdict = condition(workflow, "Succeeded")
    return str(verdict.get("message") or "") if verdict.get("status") == "False" else ""


def stalled(workflow: Mapping[str, Any]) -> str:
    """Return why a run that has not ended does not continue, empty if it does."""
    verdict = condition(workflow, "Stalled")
    if verdict.get("status") != "True" or (workflow.get("status") or {}).get("completionTime"):
        return ""
    reason, message = str(verdict.get("reason") or ""), str(verdict.get("message") or "")
    return message if message.startswith(reason) else f"{reason}: {message}"


def parse_word(text: str) -> RunWord:
    """Return the state that a user wrote, in upper or lower case. Raises UsageError with the nearest."""
    parsed = next((word for word in RunWord if word.lower() == text.lower()), None)
    if parsed is None:
        known = {word.lower(): word for word in RunWord}
        nearest = errors.nearest_name(text.lower(), known)
        advice = f"did you mean {known[nearest]}?" if nearest else f"use {', '.join(RunWord)}"
        raise errors.UsageError(f"there is no state {text!r}; {advice}")
    return parsed

"""Marks: instances that end in a state that a user chose, without running (ADR 0052). Pure.

The text of the request is in `status.clearing.asked` until the marked TaskRuns exist, so a mark survives a crash as a
clear does. Afterwards it is in the spec of each TaskRun, which never changes.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache

from torpor_crds.models.taskrun import Mark, TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants
from torpor_wire.enums import MarkState
from torpor_wire.instance_paths import Path

_REQUEST = re.compile(r"(succeeded|skipped|failed) ([a-z][a-z0-9_./,]*) because (\S[^\n]*)")
_ENTRY = re.compile(r"([a-z][a-z0-9_]*)(?:/([0-9]{1,9}(?:\.[0-9]{1,9})*))?")
_BECAUSE_MAX = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRequest:
    """A request. `entries` are tasks and paths; the path is empty for a task that is neither mapped nor in a group."""

    state: MarkState
    entries: tuple[tuple[str, Path], ...]
    because: str
    result: str | None = None


def requested(workflow: Workflow) -> str | None:
    """The mark annotation, with the result in a second line."""
    annotations = workflow.metadata.annotations
    text, result = annotations.get(constants.MARK), annotations.get(constants.MARK_RESULT)
    return text if text is None or result is None else f"{text}\n{result}"


@lru_cache(maxsize=64)  # read for each TaskRun that a clearing creates
def parse(text: str) -> MarkRequest | None:
    """The request that a text is; None for a clear and for anything else."""
    line, separator, result = text.partition("\n")
    match = _REQUEST.fullmatch(line)
    if match is None or len(match[3].encode()) > _BECAUSE_MAX:
        return None
    entries = [_ENTRY.fullmatch(entry) for entry in match[2].split(",")]
    if (separator and not _is_json(result)) or not all(entries):
        return None
    return MarkRequest(
        state=MarkState(match[1].capitalize()),
        entries=tuple((entry[1], _path(entry[2])) for entry in entries if entry is not None),
        because=match[3],
        result=result if separator else None,
    )


def of_instance(workflow: Workflow, task: str, path: Path) -> Mark | None:
    """The mark of an instance that is about to be created, None if it has none."""
    clearing = workflow.status.clearing
    request = parse(clearing.asked) if clearing is not None else None
    if request is None or (task, path) not in request.entries:
        return None
    return Mark(state=request.state, because=request.because, by=_requester(workflow), result=request.result)


def is_carried_out(workflow: Workflow, run: TaskRun) -> bool:
    """Whether a TaskRun is the one that the mark in progress created."""
    return run.spec.mark is not None and run.spec.clears >= workflow.status.clears


def message(mark: Mark) -> str:
    """The message of a marked TaskRun."""
    by = f" by {mark.by}" if mark.by else ""
    return f"marked as {mark.state.lower()}{by} because {mark.because}"


def _requester(workflow: Workflow) -> str | None:
    """Who asked, according to the last entry of the history: the annotation may be gone."""
    entries = (entry for entry in reversed(workflow.status.history) if entry.type == "Marked")
    return next((entry.by for entry in entries), None)


def _path(text: str | None) -> Path:
    return tuple(map(int, text.split("."))) if text else ()


def _is_json(text: str) -> bool:
    if len(text) > constants.RESULT_MAX:
        return False
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")

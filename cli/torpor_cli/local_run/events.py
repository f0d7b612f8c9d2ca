"""The events that answer the triggers of a local run, from `--event TASK=JSON`. Pure."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from torpor_cli import errors

_EVENT = re.compile(r"(?P<task>[a-z][a-z0-9_]*)(?P<path>(?:/[0-9.]+)?)=(?P<json>.*)", re.DOTALL)


def parse(texts: Iterable[str], tasks: Sequence[str] | None) -> dict[str, Any]:
    """Return the payloads by task, or by task and index as `load/3`. Raises UsageError.

    `tasks` are the names of the Workflow, None if they are not known.
    """
    found: dict[str, Any] = {}
    for text in texts:
        matched = _EVENT.fullmatch(text)
        if matched is None:
            raise errors.UsageError(f"--event {text}: write --event TASK=JSON, such as --event drop='{{}}'")
        task = matched["task"]
        if tasks is not None and task not in tasks:
            raise errors.UsageError(str(errors.unknown("task", task, tasks, f"the file has {', '.join(tasks)}")))
        try:
            found[task + matched["path"]] = json.loads(matched["json"])
        except (ValueError, RecursionError) as error:
            raise errors.UsageError(f"--event {text}: the event is no JSON: {error}") from None
    return found

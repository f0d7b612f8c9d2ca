"""What the user gives to the waits of a local run: `--event TASK=JSON` and `--answer TASK=ANSWER`. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from torpor_client.changes import approvals
from torpor_client.changes.approvals import NOTE_MAX

from torpor_cli import errors

if TYPE_CHECKING:
    from torpor_local.options import GivenAnswer

T = TypeVar("T")
_GIVEN = re.compile(r"(?P<task>[a-z][a-z0-9_]*)(?P<path>(?:/[0-9.]+)?)=(?P<value>.*)", re.DOTALL)
_WORDS = {"approved": True, "rejected": False}
_KEYS = frozenset({"approved", "fields", "options", "note"})


def parse_events(texts: Iterable[str], tasks: Sequence[str] | None) -> dict[str, Any]:
    """Return the payloads by task, or by task and index as `load/3`. Raises UsageError.

    `tasks` are the names of the Workflow, None if they are not known.
    """
    return _by_name("--event", "JSON, such as --event drop='{}'", texts, tasks, _event)


def parse_answers(texts: Iterable[str], tasks: Sequence[str] | None) -> "dict[str, GivenAnswer]":
    """Return the answers to approvals by the same names. Raises UsageError."""
    return _by_name("--answer", "ANSWER, such as --answer ask=approved", texts, tasks, _answer)


def answer_of(given: object) -> "GivenAnswer":
    """Return the answer of `approved`, `rejected`, or `{approved, fields, options, note}`. Raises ValueError."""
    from torpor_local.options import GivenAnswer  # noqa: PLC0415 - an extra of this package

    if isinstance(given, str) and given in _WORDS:
        return GivenAnswer(approved=_WORDS[given])
    if not isinstance(given, Mapping) or not set(given) <= _KEYS:
        raise ValueError("write approved, rejected, or a JSON object of approved, fields, options and note")
    approved, fields, note = given.get("approved", True), given.get("fields", {}), given.get("note")
    options = given.get("options", [])
    options = [options] if isinstance(options, str) else options
    if not isinstance(approved, bool) or not isinstance(fields, Mapping) or not _is_texts(options):
        raise ValueError("approved must be true or false, fields an object, and options a list of texts")
    if note is not None and (not isinstance(note, str) or len(note) > NOTE_MAX):
        raise ValueError(f"note must be a text of up to {NOTE_MAX} characters")
    return GivenAnswer(approved=approved, fields=fields, options=tuple(options), note=note)


def problems(task: Mapping[str, Any], answers: "Mapping[str, GivenAnswer]") -> Iterator[str]:
    """Yield which answers do not fit the form of a task. Forms with expressions are known only when the task waits."""
    kwargs = task["trigger"].get("kwargs") or {}
    text = json.dumps({name: kwargs.get(name) for name in ("fields", "options", "multiple") if name in kwargs})
    form = approvals.form_of(text)
    for name, answer in answers.items():
        if "${" in text or name.partition("/")[0] != task["name"] or not answer.approved:
            continue
        try:
            approvals.checked(form, answer.given())
        except approvals.AnswerRefusedError as error:
            yield f"--answer {name}: {error.problem}"


def _by_name(
    option: str, form: str, texts: Iterable[str], tasks: Sequence[str] | None, parse: Callable[[str], T]
) -> dict[str, T]:
    values: dict[str, T] = {}
    for text in texts:
        matched = _GIVEN.fullmatch(text)
        if matched is None:
            raise errors.UsageError(f"{option} {text}: write {option} TASK={form}")
        task = matched["task"]
        if tasks is not None and task not in tasks:
            raise errors.UsageError(str(errors.unknown("task", task, tasks, f"the file has {', '.join(tasks)}")))
        try:
            values[task + matched["path"]] = parse(matched["value"])
        except (ValueError, RecursionError) as error:
            raise errors.UsageError(f"{option} {text}: {error}") from None
    return values


def _event(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the event is not JSON: {error}") from None


def _answer(text: str) -> "GivenAnswer":
    if text in _WORDS:
        return answer_of(text)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    return answer_of(given)


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)

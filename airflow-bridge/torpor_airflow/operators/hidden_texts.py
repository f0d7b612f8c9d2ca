"""Removes values of connections and variables from errors and from what an operator prints.

The text of an error is on the TaskRun and in the log.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import islice
from typing import Any

from airflow.sdk._shared.secrets_masker import _secrets_masker
from torpor import TaskFailed
from torpor_wire import typed_json

from torpor_airflow import serde

_CHAIN_MAX = 100


def redact(text: str) -> str:
    """Return the text without what Airflow masks in logs: passwords and extras of connections, and secret variables."""
    return str(_secrets_masker().redact(text))


def contains_secret(value: object) -> bool:
    """Whether a value, as it is stored, contains what Airflow masks in logs: in texts, bytes, keys and objects.

    Raises TypeError for a value that cannot be stored.
    """
    return _contains_secret(serde.encode(value))


def _contains_secret(encoded: object) -> bool:
    match encoded:
        case str():
            return redact(encoded) != encoded
        case bytes() | bytearray():
            return _contains_secret(encoded.decode(errors="replace"))
        case Mapping():
            return any(_contains_secret(each) for item in encoded.items() for each in item)
        case list() | tuple() | set() | frozenset():
            return any(map(_contains_secret, encoded))
        case None | bool() | int() | float():
            return _contains_secret(str(encoded))
        case _:
            return _contains_secret(typed_json.encode(encoded))  # a path, a moment, a member of an Enum


def without_secrets(error: BaseException, *, is_final: bool) -> BaseException:
    """Return the error with its texts and notes redacted, and those of its causes and members.

    An error whose text stays secret or cannot be read becomes one with the redacted text. So does one with more than
    100 causes and members. `is_final`: no attempt may follow.
    """
    chain = list(islice(_chain(error), _CHAIN_MAX + 1))
    are_redacted = [_redact_parts(each) for each in reversed(chain)]  # members first: they are arguments of a group
    if len(chain) <= _CHAIN_MAX and all(are_redacted) and not any(map(_shows_secret, chain)):
        return error
    text = redact(f"{type(error).__name__}: {_read(error, str) or 'no text'}")
    return TaskFailed(text) if is_final else RuntimeError(text)


def _redact_parts(error: BaseException) -> bool:
    """Redact arguments and notes of an error, and return whether its class lets one do so."""
    try:
        error.args = tuple(_redacted(argument) for argument in error.args)
        notes = getattr(error, "__notes__", None)
        if notes is not None:
            error.__notes__ = [_redacted(each) for each in (notes if isinstance(notes, list | tuple) else [notes])]
    except Exception:  # noqa: BLE001 - the class is the user's
        return False
    return True


def _redacted(argument: Any) -> Any:
    """Return an argument of an error; an object stays if it shows no secret."""
    if isinstance(argument, str):
        return redact(argument)
    text = _read(argument, repr)
    return argument if text is not None and redact(text) == text else redact(text or type(argument).__name__)


def _shows_secret(error: BaseException) -> bool:
    text = _read(error, str)
    return text is None or redact(text) != text


def _read(value: object, write: Callable[[object], str]) -> str | None:
    """Return the text of a value, None if code of its class fails."""
    try:
        return write(value)
    except Exception:  # noqa: BLE001 - the class is the user's
        return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, then its causes and the members of groups, each once."""
    left, seen = [error], set[int]()
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            left.extend(each.exceptions)
        cause = each.__cause__ or each.__context__
        if cause is not None:
            left.append(cause)


@contextmanager
def redacted_streams() -> Iterator[None]:
    """Redact what code in the block prints."""
    out: Any = _RedactedStream(sys.stdout)
    err: Any = _RedactedStream(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        yield


class _RedactedStream:
    """A standard stream; binary output through its `buffer` stays as it is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(redact(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

"""Removes values of connections and variables from errors and from what an operator prints.

The text of an error is on the TaskRun and in the log.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from airflow.sdk._shared.secrets_masker import _secrets_masker
from torpor import TaskFailed

_CHAIN_MAX = 20


def redact(text: str) -> str:
    """Return the text without what Airflow masks in logs: passwords and extras of connections, and secret variables."""
    return str(_secrets_masker().redact(text))


def contains_secret(value: object) -> bool:
    """Whether a value, or one within it, contains what Airflow masks in logs."""
    match value:
        case str():
            return redact(value) != value
        case Mapping():
            return any(map(contains_secret, value.values()))
        case list() | tuple() | set() | frozenset():
            return any(map(contains_secret, value))
        case _:
            return False


def without_secrets(error: BaseException, *, is_final: bool) -> BaseException:
    """Return the error with its texts redacted, and those of its causes. `is_final`: no attempt may follow.

    An error that builds its text from other attributes becomes one with the redacted text.
    """
    for each in _chain(error):
        each.args = tuple(_redacted(argument) for argument in each.args)
    if not any(_shows_secret(each) for each in _chain(error)):
        return error
    text = redact(f"{type(error).__name__}: {error}")
    return TaskFailed(text) if is_final else RuntimeError(text)


def _redacted(argument: Any) -> Any:
    """Return an argument of an error; one that is no text stays if it has no secret."""
    if isinstance(argument, str):
        return redact(argument)
    text = repr(argument)
    return argument if redact(text) == text else redact(text)


def _shows_secret(error: BaseException) -> bool:
    text = str(error)
    return redact(text) != text


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(_CHAIN_MAX):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


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

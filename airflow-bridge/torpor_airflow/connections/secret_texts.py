"""What must not be shown of an answer of a secrets backend. Pure."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from airflow.sdk import Connection
from airflow.sdk._shared.secrets_masker import DEFAULT_SENSITIVE_FIELDS

COUNT_MAX = 100
"""Texts of an answer in a pool. A triggerer hides as many at a time."""
TEXT_MAX = 64 * 1024
"""Characters of a text in a pool, as in a triggerer."""
_LENGTH_MIN = 5
"""Airflow masks no shorter ones either."""
_SECRET_NAME = re.compile("|".join(["pass", "pwd", "key", "credential", *sorted(DEFAULT_SENSITIVE_FIELDS)]))


def collect(answer: Any) -> list[str]:
    """Return the texts to hide: the whole answer, a password, and fields of JSON with the name of a secret."""
    whole = _whole(answer)
    return list(dict.fromkeys([*whole, *_secret_fields(whole)]))


def collect_bounded(answer: Any) -> list[str]:
    """Return the texts that a triggerer hides. Raises ValueError, without a value in it, for more than it can hide."""
    longest = max(map(len, _whole(answer)), default=0)
    if longest > TEXT_MAX:
        raise ValueError(f"its value has {longest:,} characters, and a pool can hide {TEXT_MAX:,}")
    texts = collect(answer)
    if len(texts) > COUNT_MAX:
        raise ValueError(f"its value has {len(texts)} secret texts, and a pool can hide {COUNT_MAX}")
    return texts


def _whole(answer: Any) -> list[str]:
    texts = [answer.get_uri(), answer.password, answer.extra] if isinstance(answer, Connection) else [answer]
    return [text for text in texts if _is_long(text)]


def _secret_fields(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts of fields with the name of a secret, also in JSON within JSON."""
    left: list[tuple[bool, Any]] = [(False, text) for text in texts]
    while left:
        is_secret, value = left.pop()
        match value:
            case str():
                if is_secret and _is_long(value):
                    yield value
                if value.lstrip()[:1] in {"{", "["}:
                    with suppress(ValueError, RecursionError):
                        left.append((is_secret, json.loads(value)))
            case dict():
                left.extend((is_secret or _names_secret(name), item) for name, item in value.items())
            case list():
                left.extend((is_secret, item) for item in value)


def _names_secret(name: str) -> bool:
    return _SECRET_NAME.search(re.sub(r"\W+", "_", name.lower())) is not None


def _is_long(text: object) -> bool:
    return isinstance(text, str) and len(text) >= _LENGTH_MIN

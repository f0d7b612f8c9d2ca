"""Redacts secrets in text, in all common spellings: plain, quoted, or encoded. Pure.

An event is data, so only secrets that are long enough to be unambiguous are redacted there, and only in texts.
"""

import json
import re
from base64 import b64encode
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from torpor_wire import typed_json

Spellings: TypeAlias = tuple[str, ...]

MASK = "***"
JSON_MIN = 8
_SCHEMES = {"basic", "bearer", "token"}
_SECRET_NAME = re.compile(r"pass|secret|token|key|credential", re.IGNORECASE)
"""Names of fields of a JSON object, and of parameters of a URL, whose values are secrets."""
_FIELDS_MAX = 1000


def spellings(secrets: Collection[str]) -> Spellings:
    """Return the spellings to redact, the longest first, so that no part of one remains if it contains another."""
    return _ordered({spelling for secret in secrets for spelling in _spellings(secret) if spelling.strip()})


def merged(first: Spellings, second: Spellings) -> Spellings:
    """Return the spellings of both in their order."""
    if first is second or not second:
        return first
    return _ordered({*first, *second}) if first else second


def _ordered(spelled: Collection[str]) -> Spellings:
    return tuple(sorted(spelled, key=lambda spelling: (-len(spelling), spelling)))


def redact(text: str, spelled: Spellings) -> str:
    """Return the text with each spelling replaced."""
    for spelling in spelled:
        text = text.replace(spelling, MASK)
    return text


def redact_json(event: str, spelled: Spellings) -> str:
    """Return JSON text with each spelling replaced in its strings."""
    spelled = tuple(spelling for spelling in spelled if len(spelling) >= JSON_MIN)
    if not spelled:
        return event
    return json.dumps(_redacted(json.loads(event), spelled), ensure_ascii=False, separators=(",", ":"))


def _redacted(value: Any, spelled: Spellings) -> Any:
    match value:
        case str():
            return redact(value, spelled)
        case list():
            return [_redacted(item, spelled) for item in value]
        case dict() if typed_json.type_of(value):
            return _redacted_typed(value, spelled)
        case dict():
            return {redact(name, spelled): _redacted(item, spelled) for name, item in value.items()}
        case _:
            return value


def _redacted_typed(value: dict[str, Any], spelled: Spellings) -> Any:
    """A value with a type; a text that is no longer valid for its type becomes plain text.

    Base64 spells a secret in three ways, depending on its position, so bytes are decoded first.
    """
    content = value["__var"]
    if typed_json.type_of(value) == "bytes":
        with suppress(ValueError):
            return typed_json.encode(_redacted_bytes(typed_json.decode(value), spelled))
    cleaned = _redacted(content, spelled)
    return cleaned if isinstance(content, str) and cleaned != content else {**value, "__var": cleaned}


def _redacted_bytes(content: bytes, spelled: Spellings) -> bytes:
    for spelling in spelled:
        content = content.replace(spelling.encode(errors="surrogatepass"), MASK.encode())
    return content


def _spellings(secret: str) -> Iterator[str]:
    for part in (secret, secret.strip(), *_passwords(secret.strip())):
        yield from _encoded(part)
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= JSON_MIN)


def _passwords(secret: str) -> Iterator[str]:
    """The secret parts of a secret: of a URL, of an Authorization header, of a JSON object such as a connection."""
    scheme, _, credentials = secret.partition(" ")
    if scheme.lower() in _SCHEMES and credentials:
        yield credentials.strip()
    yield from _json_passwords(secret)
    try:
        parts = urlsplit(secret)
        password, query = parts.password, parse_qsl(parts.query, max_num_fields=_FIELDS_MAX)
    except ValueError:
        return
    yield from (value for name, value in query if _SECRET_NAME.search(name))
    if password:
        yield password
        yield unquote(password)


def _json_passwords(secret: str) -> Iterator[str]:
    """The texts of fields with the name of a secret, also in JSON within JSON. It reads a bounded number of values."""
    left: list[tuple[bool, Any]] = [(False, secret)]
    for _ in range(_FIELDS_MAX):
        if not left:
            return
        match left.pop():
            case named, str() as text if text.lstrip()[:1] in {"{", "["}:
                with suppress(ValueError, RecursionError):
                    left.append((named, json.loads(text)))
            case True, str() as text:
                yield text
            case named, dict() as fields:
                left.extend((named or bool(_SECRET_NAME.search(name)), value) for name, value in fields.items())
            case named, list() as items:
                left.extend((named, item) for item in items)
            case _:
                continue


def _encoded(secret: str) -> Iterator[str]:
    yield secret
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    yield b64encode(secret.encode(errors="surrogatepass")).decode()

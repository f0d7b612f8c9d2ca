"""What the triggers that speak HTTP take: addresses and headers.

An address and a header may come from a Secret (`secrets`); what stands on the TaskRun for all to read holds neither
credentials nor headers that are made of them. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from torpor.triggers import header_rules, secrets
from torpor.triggers.secrets import Reference, Revealed

Headers: TypeAlias = "dict[str, str | Reference]"

SECRET_HEADERS = frozenset({"authorization", "cookie"})
INTERVAL = 5.0
TIMEOUT = 10.0
_URL_MAX = 2048
_HEADERS_MAX = 32


def url(value: object) -> str | Reference:
    """An address, or where it stands. Raises TypeError or ValueError saying what is wrong with it."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - paid for only where it is used

    if secrets.is_reference(value):
        return secrets.reference(value, "url")
    if not isinstance(value, str):
        raise TypeError(f"url takes text, not {type(value).__name__}")
    shown = "the url" if isinstance(value, Revealed) else f"url {value[:100]!r}"
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{shown}: {error}") from error
    odd = len(value) > _URL_MAX or not value.isprintable() or " " in value
    if parts.scheme not in {"http", "https"} or not host or odd:
        raise ValueError(f"{shown} is not an address such as https://example.org/path")
    if parts.username is not None and not isinstance(value, Revealed):
        raise ValueError("url holds credentials, and it stands on the TaskRun for all to read: use a secretRef")
    return value


def shown(value: str | Reference) -> str:
    """The address as people may see it."""
    return value if isinstance(value, str) and not isinstance(value, Revealed) else "the url"


def without_address(value: str | Reference, error: OSError) -> str:
    """What an error says, but for where a Secret leads."""
    return "the triggerer does not connect waits to where it leads" if shown(value) != value else str(error)


def read(value: str | Reference, name: str) -> str:
    """What has been put in the place of a reference. Raises ValueError where nothing has, as in a task pod."""
    if not isinstance(value, str):
        raise ValueError(f"{name} stands in a Secret that has not been read")  # noqa: TRY004 - it is what was given
    return value


def all_read(found: Headers) -> dict[str, str]:
    """The same for headers."""
    return {name: read(value, f"headers: {name}") for name, value in found.items()}


def method(value: object, among: Sequence[str]) -> str:
    """One of these, in capitals. Raises ValueError naming them."""
    if not isinstance(value, str) or value.upper() not in among:
        raise ValueError(f"method is one of {', '.join(among)}, not {value!r:.100}")
    return value.upper()


def headers(value: object) -> Headers:
    """Names and values, or where these stand. Raises TypeError or ValueError naming the header."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"headers takes names and values, not {type(value).__name__}")
    if len(value) > _HEADERS_MAX:
        raise ValueError(f"headers are {len(value)}; {_HEADERS_MAX} fit")
    return {_name(name): _value(name, one) for name, one in value.items()}


def _name(name: object) -> str:
    problem = header_rules.name_problem(name)
    if problem:
        raise ValueError(f"headers: {problem}")
    return str(name)


def _value(name: str, value: object) -> str | Reference:
    if secrets.is_reference(value):
        return secrets.reference(value, f"headers: {name}")
    if isinstance(value, Revealed):
        value = Revealed(value.strip())
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"headers: the value of {name} must be printable text; quote numbers")
    if name.lower() in SECRET_HEADERS and not isinstance(value, Revealed):
        raise ValueError(
            f"headers: {name} is a secret, and it would stand on the TaskRun for all to read; write "
            f"{{{name}: {{secretRef: {{name: ..., key: ...}}}}}}"
        )
    return value

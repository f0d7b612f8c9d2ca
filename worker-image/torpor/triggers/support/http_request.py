"""Arguments, conditional requests and back-off of the HTTP triggers. Pure.

A URL or a header may come from a Secret. Text on the TaskRun is readable, so it must not contain credentials.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from torpor_wire import canonical
from torpor_wire.retry import Backoff

from torpor.triggers.services import HttpResponse
from torpor.triggers.support import arguments, header_rules, polling
from torpor.triggers.support.arguments import Reference, Revealed
from torpor.triggers.support.metering import AddressDeniedError

Headers: TypeAlias = "dict[str, str | Reference]"

SECRET_HEADERS = frozenset({"authorization", "cookie"})
INTERVAL = 5.0
TIMEOUT = 10.0
SHOWN_HEADERS = ("content-type", "content-length", "etag", "last-modified", "location")
_HEADER_SHOWN = 200
_URL_MAX = 2048
_HEADERS_MAX = 32


def url(value: object) -> str | Reference:
    """Return a URL or a reference to one. Raises TypeError or ValueError."""
    from urllib.parse import urlsplit

    if arguments.is_reference(value):
        return arguments.reference(value, "url")
    if not isinstance(value, str):
        raise TypeError(f"url must be text, not {type(value).__name__}")
    shown = "the url" if isinstance(value, Revealed) else f"url {value[:100]!r}"
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{shown}: {error}") from error
    odd = len(value) > _URL_MAX or not value.isprintable() or " " in value
    if parts.scheme not in {"http", "https"} or not host or odd:
        raise ValueError(f"{shown} is not a URL such as https://example.org/path")
    if parts.username is not None and not isinstance(value, Revealed):
        raise ValueError("url contains credentials, and the TaskRun would show them: use a secretRef")
    return value


def display_url(value: str | Reference) -> str:
    """Return the URL for messages, hidden if it comes from a Secret."""
    return value if isinstance(value, str) and not isinstance(value, Revealed) else "the url"


def denied(value: str | Reference, error: AddressDeniedError) -> AddressDeniedError:
    """Return the error with the URL, without an address that comes from a Secret."""
    words = "the triggerer does not connect to its address" if display_url(value) != value else str(error)
    return AddressDeniedError(f"{display_url(value)}: {words}")


def plain_text(value: str | Reference, name: str) -> str:
    """Return the text of a value. Raises ValueError if it is still a reference, as in a task pod."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is a secretRef that was not resolved")  # noqa: TRY004 - the value is wrong, not its type
    return value


def plain_headers(headers: Headers) -> dict[str, str]:
    """Return the text of all headers."""
    return {name: plain_text(value, f"headers: {name}") for name, value in headers.items()}


def method(value: object, among: Sequence[str]) -> str:
    """Return the method in upper case. Raises ValueError naming the allowed ones."""
    if not isinstance(value, str) or value.upper() not in among:
        raise ValueError(f"method must be one of {', '.join(among)}, not {value!r:.100}")
    return value.upper()


def headers(value: object) -> Headers:
    """Return valid headers. Raises TypeError or ValueError naming the header."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"headers must be a mapping, not {type(value).__name__}")
    if len(value) > _HEADERS_MAX:
        raise ValueError(f"there are {len(value)} headers; {_HEADERS_MAX} are allowed")
    return {_name(name): _value(name, item) for name, item in value.items()}


def _name(name: object) -> str:
    problem = header_rules.name_problem(name)
    if problem:
        raise ValueError(f"headers: {problem}")
    return str(name)


def _value(name: str, value: object) -> str | Reference:
    if arguments.is_reference(value):
        return arguments.reference(value, f"headers: {name}")
    if isinstance(value, Revealed):
        value = Revealed(value.strip())
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"headers: the value of {name} must be printable text; quote numbers")
    if name.lower() in SECRET_HEADERS and not isinstance(value, Revealed):
        raise ValueError(
            f"headers: {name} is a secret, and the TaskRun would show it; write "
            f"{{{name}: {{secretRef: {{name: ..., key: ...}}}}}}"
        )
    return value


def json_body(body: object, name: str) -> Any:
    """Return a JSON value to send. Raises ValueError for anything else."""
    try:
        canonical.plain(body)
    except canonical.NotJsonError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
    return body


def shown_headers(answer: HttpResponse) -> dict[str, str]:
    """Return the headers of a response that an event has."""
    return {name: answer.headers[name][:_HEADER_SHOWN] for name in SHOWN_HEADERS if name in answer.headers}


def reason_text(answer: HttpResponse, most: int) -> str:
    """Return the reason of a rejection. A redirect is not followed, because it would be another request."""
    to = answer.headers.get("location")
    text = f"it redirects to {to}" if to else " ".join(answer.body.decode(errors="replace").split())
    return f": {text[:most]}" if text else ""


Ranges: TypeAlias = tuple[tuple[int, int], ...]

_RANGE = re.compile(r"([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")


def parse_ranges(status: object) -> Ranges:
    """Return status ranges from `200`, `"200-299"` or a list of both. Raises TypeError or ValueError."""
    given = status if isinstance(status, Iterable) and not isinstance(status, str | bytes) else [status]
    ranges = tuple(sorted(_range(item) for item in given))
    if not ranges:
        raise ValueError("status is empty")
    return ranges


def range_list(ranges: Ranges) -> list[int | str]:
    """Return the list that `ranges` accepts."""
    return [first if first == last else f"{first}-{last}" for first, last in ranges]


def in_ranges(ranges: Ranges, status: int) -> bool:
    """Return whether a status is in one of the ranges."""
    return any(first <= status <= last for first, last in ranges)


def _range(item: object) -> tuple[int, int]:
    if isinstance(item, bool) or not isinstance(item, int | str):
        raise TypeError(f"status must be codes such as 200 or ranges such as '200-299', not {item!r:.100}")
    match = _RANGE.fullmatch(str(item))
    if match is None:
        raise ValueError(f"status {item!r:.100} is neither a code such as 200 nor a range such as '200-299'")
    first = int(match[1])
    last = int(match[2] or first)
    if last < first:
        raise ValueError(f"status {item!r} ends before it begins")
    return first, last


NOT_MODIFIED = 304
_OK = 200
_SETTLED = 2.0
_CONDITIONS = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"})


def has_conditions(names: Iterable[str]) -> bool:
    """Return whether the author's headers contain conditions, which ours must not mix with."""
    return any(name.lower() in _CONDITIONS for name in names)


def is_tag(version: str) -> bool:
    """Return whether a text is an ETag that a request can contain."""
    return version.startswith(('"', 'W/"')) and version.isascii() and version.isprintable()


def is_same_version(first: str, second: str) -> bool:
    """Return whether two ETags, or two digests of bodies, are of the same version (RFC 9110, 8.8.3.2: weakly)."""
    return first.removeprefix("W/") == second.removeprefix("W/")


def conditional_headers(answer: HttpResponse) -> Mapping[str, str]:
    """Return the headers of a conditional request; none if the response does not allow it."""
    if answer.status != _OK or answer.truncated or not _is_settled(answer):
        return {}
    given = {"If-None-Match": answer.headers.get("etag"), "If-Modified-Since": answer.headers.get("last-modified")}
    return {name: value for name, value in given.items() if value}


def _is_settled(answer: HttpResponse) -> bool:
    """Return whether the resource last changed well before the response, so that Last-Modified identifies it."""
    from email.utils import parsedate_to_datetime

    changed = answer.headers.get("last-modified")
    if changed is None:
        return True
    try:
        answered = parsedate_to_datetime(answer.headers["date"])
        return (answered - parsedate_to_datetime(changed)).total_seconds() >= _SETTLED
    except (KeyError, ValueError, TypeError):
        return False


RETRY_AFTER_MAX = 3600.0
_TOO_MANY, _UNAVAILABLE, _ERROR = 429, 503, 500
_GROWTH_MAX = 12.0
_PAUSE_MAX = 60.0


class RequestDelays:
    """The delays between the requests of one deferral.

    They grow up to `most` seconds; by default up to a minute and twelve intervals, because a short interval asks for a
    prompt answer.
    """

    def __init__(self, interval: float, *, most: float | None = None) -> None:
        cap = max(interval, min(_PAUSE_MAX, _GROWTH_MAX * interval) if most is None else most)
        self._backoff = Backoff(interval, cap)
        self._failures = 0
        self._retry_after = 0.0

    def note(self, answer: HttpResponse | None, now: float) -> None:
        """Record a response, or None for no response."""
        self._failures = self._failures + 1 if answer is None or is_unavailable(answer) else 0
        self._retry_after = 0.0 if answer is None else retry_after(answer, now)

    def pause(self, jitter: float) -> float:
        """Return the seconds until the next request; `jitter` is a number from 0 to 1."""
        delay = self._backoff.delay(self._failures)
        return max(polling.vary(delay, jitter), self._retry_after * (1.0 + 0.1 * jitter))


def is_unavailable(answer: HttpResponse) -> bool:
    """Return whether a status means that the server cannot answer now."""
    return answer.status == _TOO_MANY or answer.status >= _ERROR


def retry_after(answer: HttpResponse, now: float) -> float:
    """Return the seconds of Retry-After (RFC 9110, 10.2.3), up to an hour; 0 without it."""
    header = answer.headers.get("retry-after", "").strip()
    if answer.status not in {_TOO_MANY, _UNAVAILABLE} or not header:
        return 0.0
    seconds = float(header) if header.isascii() and header.isdecimal() else _until(header, now)
    return min(RETRY_AFTER_MAX, max(0.0, seconds))


def _until(moment: str, now: float) -> float:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(moment).timestamp() - now
    except (ValueError, OverflowError):
        return 0.0

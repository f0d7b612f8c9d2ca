"""Waiting for an HTTP response: polled until its status, and a condition on it if there is one, are as asked.

No answer and another answer both mean "not yet". The arguments stand on the TaskRun for all to read, so credentials
are refused. The request itself is the triggerer's (`Services.request`).
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from typing import Any

from torpor_wire import canonical, keys

from torpor.triggers import spans, statuses
from torpor.triggers.base import BaseTrigger, TriggerEvent
from torpor.triggers.services import Answer, NotYetError, Request, Services

ROOTS = frozenset({"response"})
METHODS = ("GET", "HEAD", "POST")
SHOWN_HEADERS = ("content-type", "content-length", "etag", "last-modified", "location")
SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
INTERVAL = 5.0
INTERVAL_MIN = 0.1
TIMEOUT = 10.0
_URL_MAX = 2048
_HEADER_SHOWN = 200
_TEXT_SHOWN = 2048


class Http(BaseTrigger):
    """Fires when `url` answers with one of `status` and `body_condition`, CEL over `response`, is true.

    `status` is a code, or a list of codes and ranges (`"200-299"`). `response` has status, headers (names in lower
    case), json (null for what is not JSON) and text (up to 1 MB). The event has status, headers (a few), and json or
    the beginning of text, so that it stays small.
    """

    def __init__(  # noqa: PLR0913 - what an HTTP request has, each with a default
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        status: int | str | Iterable[int | str] = 200,
        body_condition: str | None = None,
        interval: timedelta | float | str = INTERVAL,
        timeout: timedelta | float | str = TIMEOUT,
    ) -> None:
        self.url = _url(url)
        self.method = _method(method)
        self.headers = _headers(headers)
        self.status = statuses.ranges(status)
        self.body_condition = _condition(body_condition)
        self.interval = spans.seconds(interval, "interval", least=INTERVAL_MIN)
        self.timeout = spans.seconds(timeout, "timeout", least=INTERVAL_MIN)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """What differs from the defaults, so that equal waits look equal."""
        given = {
            "url": self.url,
            "method": None if self.method == "GET" else self.method,
            "headers": self.headers or None,
            "status": None if self.status == ((200, 200),) else statuses.spelled(self.status),
            "body_condition": self.body_condition,
            "interval": None if self.interval == INTERVAL else self.interval,
            "timeout": None if self.timeout == TIMEOUT else self.timeout,
        }
        return "http", {name: value for name, value in given.items() if value is not None}

    def bind(self, services: Services) -> None:
        """Also checks the condition."""
        super().bind(services)
        if self.body_condition is not None:
            services.check(self.body_condition, ROOTS)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until it is so; the interval is varied a little, so that many waits do not ask at one moment."""
        while True:
            payload = await self._look()
            if payload is not None:
                yield TriggerEvent(payload)
                return
            await self.services.sleep(self.interval * (0.9 + 0.2 * self.services.jitter()))

    async def _look(self) -> dict[str, Any] | None:
        try:
            answer = await self.services.request(Request(self.method, self.url, self.headers, self.timeout))
        except OSError as error:
            self.last_look = f"no answer from {self.url}: {error}"
            return None
        if not statuses.holds(self.status, answer.status):
            self.last_look = f"{self.url} answered {answer.status}"
            return None
        document = _document(answer)
        return payload(answer, document) if await self._meets(answer, document) else None

    async def _meets(self, answer: Answer, document: Any) -> bool:
        if self.body_condition is None:
            return True
        text = answer.body.decode(errors="replace")
        response = {"status": answer.status, "headers": dict(answer.headers), "json": document, "text": text}
        try:
            value = await self.services.evaluate(self.body_condition, {"response": response})
        except NotYetError as error:
            self.last_look = f"{self.url} answered {answer.status}; body_condition: {error}"
            return False
        if not isinstance(value, bool):
            raise TypeError(f"body_condition yields a {type(value).__name__}, not true or false: {self.body_condition}")
        self.last_look = f"{self.url} answered {answer.status}; body_condition is {str(value).lower()}"
        return value


def payload(answer: Answer, document: Any) -> dict[str, Any]:
    """The event: within its limit whatever was answered, with `truncated` where something is left out."""
    headers = {name: answer.headers[name][:_HEADER_SHOWN] for name in SHOWN_HEADERS if name in answer.headers}
    event: dict[str, Any] = {"status": answer.status, "headers": headers}
    if document is not None and _fits(event | {"json": document}):
        return event | {"json": document}
    whole = answer.body.decode(errors="replace")
    shown = whole[:_TEXT_SHOWN]
    while not _fits(event | {"text": shown, "truncated": True}):
        shown = shown[: len(shown) // 2]
    return event | {"text": shown} | ({"truncated": True} if answer.truncated or len(shown) < len(whole) else {})


def _fits(event: dict[str, Any]) -> bool:
    try:
        return len(canonical.plain(event).encode()) <= keys.EVENT_MAX
    except canonical.NotJsonError:
        return False


def _document(answer: Answer) -> Any:
    if answer.truncated or not answer.body:
        return None
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None


def _url(url: object) -> str:
    from urllib.parse import urlsplit  # noqa: PLC0415 - paid for only where it is used

    if not isinstance(url, str):
        raise TypeError(f"url takes text, not {type(url).__name__}")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"url {url[:100]!r}: {error}") from error
    if parts.scheme not in {"http", "https"} or not host or len(url) > _URL_MAX or not url.isprintable() or " " in url:
        raise ValueError(f"url {url[:100]!r} is not an address such as https://example.org/path")
    if parts.username is not None:
        raise ValueError("url holds credentials, and it stands on the TaskRun for all to read")
    return url


def _method(method: object) -> str:
    if not isinstance(method, str) or method.upper() not in METHODS:
        raise ValueError(f"method is one of {', '.join(METHODS)}, not {method!r:.100}")
    return method.upper()


def _headers(headers: object) -> dict[str, str]:
    if headers is None:
        return {}
    if not isinstance(headers, Mapping):
        raise TypeError(f"headers takes names and values, not {type(headers).__name__}")
    for name, value in headers.items():
        if not (isinstance(name, str) and isinstance(value, str) and name and (name + value).isprintable()):
            raise ValueError(f"headers: {name!r:.100} and its value must be printable text; quote numbers")
        if name.lower() in SECRET_HEADERS:
            raise ValueError(f"headers: {name} is a secret, and it would stand on the TaskRun for all to read")
    return dict(headers)


def _condition(condition: object) -> str | None:
    if condition is not None and not isinstance(condition, str):
        raise TypeError(f"body_condition takes a CEL expression as text, not {type(condition).__name__}")
    return condition

"""Waiting for an HTTP response: polled until its status, and a condition on it if there is one, are as asked.

No answer and another answer both mean "not yet"; a server in trouble is asked less and less often, and not before the
moment that it names itself. A server that tells its answers apart (ETag, Last-Modified) is asked for a changed one, so
that an unchanged one costs nothing. The request itself is the triggerer's (`Services.request`).
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from typing import Any

from torpor_wire import canonical, keys

from torpor.triggers import conditions, polling, spans, statuses, validators, web
from torpor.triggers.base import BaseTrigger, TriggerEvent
from torpor.triggers.pace import Pace
from torpor.triggers.secrets import Reference
from torpor.triggers.services import Answer, Request, Services

ROOTS = frozenset({"response"})
METHODS = ("GET", "HEAD", "POST")
SHOWN_HEADERS = ("content-type", "content-length", "etag", "last-modified", "location")
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
        url: str | Reference,
        *,
        method: str = "GET",
        headers: Mapping[str, str | Reference] | None = None,
        status: int | str | Iterable[int | str] = 200,
        body_condition: str | None = None,
        interval: timedelta | float | str = web.INTERVAL,
        timeout: timedelta | float | str = web.TIMEOUT,
    ) -> None:
        self.url = web.url(url)
        self.method = web.method(method, METHODS)
        self.headers = web.headers(headers)
        self.status = statuses.ranges(status)
        self.body_condition = conditions.given(body_condition, "body_condition")
        self.interval = spans.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        self.timeout = spans.seconds(timeout, "timeout", least=polling.INTERVAL_MIN)
        self._pace = Pace(self.interval)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """What differs from the defaults, so that equal waits look equal."""
        given = {
            "url": self.url,
            "method": None if self.method == "GET" else self.method,
            "headers": self.headers or None,
            "status": None if self.status == ((200, 200),) else statuses.spelled(self.status),
            "body_condition": self.body_condition,
            "interval": None if self.interval == web.INTERVAL else self.interval,
            "timeout": None if self.timeout == web.TIMEOUT else self.timeout,
        }
        return "http", {name: value for name, value in given.items() if value is not None}

    def bind(self, services: Services) -> None:
        """Also checks the condition."""
        super().bind(services)
        if self.body_condition is not None:
            services.check(self.body_condition, ROOTS)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until it is so."""
        headers = web.all_read(self.headers)
        asked = Request(self.method, web.read(self.url, "url"), headers, self.timeout)
        can_compare = self.method != "POST" and not validators.asked_by_hand(headers)
        known: Mapping[str, str] = {}
        seen = ""
        while True:
            answer = await self._ask(asked._replace(headers={**known, **headers}))
            if answer is not None and known and answer.status == validators.NOT_MODIFIED:
                self.last_look = seen
            elif answer is not None:
                found = await self._judge(answer)
                if found is not None:
                    yield TriggerEvent(found)
                    return
                known, seen = validators.of(answer) if can_compare else {}, self.last_look
            await self.services.sleep(self._pace.pause(self.services.jitter()))

    async def _ask(self, asked: Request) -> Answer | None:
        try:
            answer = await self.services.request(asked)
        except OSError as error:
            self._pace.note(None, self.services.now())
            self.last_look = f"no answer from {web.shown(self.url)}: {error}"
            return None
        self._pace.note(answer, self.services.now())
        return answer

    async def _judge(self, answer: Answer) -> dict[str, Any] | None:
        """The event, where the answer is as asked."""
        self.last_look = f"{web.shown(self.url)} answered {answer.status}"
        if not statuses.holds(self.status, answer.status):
            return None
        document = _document(answer)
        return payload(answer, document) if await self._meets(answer, document) else None

    async def _meets(self, answer: Answer, document: Any) -> bool:
        if self.body_condition is None:
            return True
        text = answer.body.decode(errors="replace")
        response = {"status": answer.status, "headers": dict(answer.headers), "json": document, "text": text}
        verdict = await conditions.judge(self.services, self.body_condition, {"response": response}, "body_condition")
        self.last_look += f"; {verdict.words}"
        return verdict.holds


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

"""Polls a URL until its status and an optional condition on the response are met.

No response and another response both mean "not yet". Polls of a failing server back off exponentially and respect
Retry-After. With ETag or Last-Modified, polls are conditional requests, so an unchanged response costs little.
Deferrals that send the same request share one poll.
"""

import hashlib
import json
from collections.abc import Coroutine, Hashable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from torpor_wire import canonical, constants

from torpor.triggers import cursors
from torpor.triggers.base import BaseTrigger
from torpor.triggers.cursors import UNSET, Cursor
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import HttpResponse, Request, Services
from torpor.triggers.support import arguments, http_request, polling
from torpor.triggers.support.arguments import Reference
from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError

ROOTS = frozenset({"response"})
METHODS = ("GET", "HEAD", "POST")
_TEXT_SHOWN = 2048
_SMALL, _LARGE = 16 * 1024, 1024**2
"""Bytes of a body: the limit of a first read, and that of a second read with reserved memory."""
_TAG_MAX = 256
_VALUES = 100_000
"""Values of a JSON document. Each needs about 25 times its size as text."""


class Http(BaseTrigger):
    """Fires when a URL responds with a status and, optionally, a body condition.

    The event is `{status, headers, json}`, or `text` with the beginning of the body if it is not JSON or too large.
    `headers` has content-type, content-length, etag, last-modified and location.

        Http("https://jobs.example.org/7", body_condition="response.json.state == 'done'", interval=30)

    Args:
        url: An http or https URL, or a SecretRef.
        method: GET, HEAD or POST.
        headers: Names and values; a value may be a SecretRef.
        status: A code, or a list of codes and ranges such as `"200-299"`.
        body_condition: A CEL expression over `response`, which has status, headers (lower-case names), json (null if
            the body is not JSON) and text (up to 1 MB).
        interval: Time between two polls: a timedelta, seconds, or text such as `30s`.
        timeout: The limit of one request.
        cursor: The version that fired last: the ETag, or the SHA-256 of the body of a server without ETags. Fires if
            the version differs.
    """

    poll_at_once = 100_000

    def __init__(  # noqa: PLR0913 - the parts of an HTTP request, each with a default
        self,
        url: str | Reference,
        *,
        method: str = "GET",
        headers: Mapping[str, str | Reference] | None = None,
        status: int | str | Iterable[int | str] = 200,
        body_condition: str | None = None,
        interval: timedelta | float | str = http_request.INTERVAL,
        timeout: timedelta | float | str = http_request.TIMEOUT,
        cursor: Cursor = UNSET,
    ) -> None:
        self.url = http_request.url(url)
        self.method = http_request.method(method, METHODS)
        self.headers = http_request.headers(headers)
        self.status = http_request.parse_ranges(status)
        self.body_condition = polling.condition_text(body_condition, "body_condition")
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        self.timeout = arguments.seconds(timeout, "timeout", least=polling.INTERVAL_MIN)
        self.cursor = cursors.cursor(cursor)
        self.known: Mapping[str, str] = self._of_cursor()
        self.seen = f"{http_request.display_url(self.url)} has not changed"
        self.is_large = False

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults, so that equal deferrals have equal text."""
        status = None if self.status == ((200, 200),) else http_request.range_list(self.status)
        given = arguments.differing(self, Http.__init__, headers=self.headers or None, status=status)
        return "http", given | cursors.stored(self.cursor)

    def bind(self, services: Services) -> None:
        """Check the condition and the request timeout. Raises ValueError."""
        super().bind(services)
        arguments.request_seconds(self.timeout, services.longest_request)
        if self.body_condition is not None:
            services.check(self.body_condition, ROOTS)

    @property
    def shareable(self) -> bool:  # type: ignore[override]
        """Two deferrals with the same POST mean two requests."""
        return self.method != "POST"

    @property
    def source(self) -> Hashable:  # type: ignore[override]
        """The request. Each POST is polled alone, because it may have side effects."""
        if self.method == "POST":
            return None
        headers = tuple(sorted(http_request.plain_headers(self.headers).items()))
        return self.method, http_request.plain_text(self.url, "url"), headers, self.timeout

    @classmethod
    async def poll_many(cls, waits: "Sequence[Http]", services: Services) -> Sequence[TriggerEvent | Exception | None]:
        """Send one request for all of them."""
        first = waits[0]
        known = {} if any(wait.known != first.known for wait in waits) else first.known
        if first.method != "POST" and not any(wait.is_large for wait in waits):
            answer = await first.ask(services, known, _SMALL)
            if not answer.truncated:
                return await cls._answered(waits, answer, known)
        # Limits how many large responses are in memory.
        async with services.answering():
            answer = await first.ask(services, known, _LARGE)
            for wait in waits:
                wait.is_large = len(answer.body) > _SMALL
            return await cls._answered(waits, answer, known)

    @classmethod
    async def _answered(
        cls, waits: "Sequence[Http]", answer: HttpResponse, known: Mapping[str, str]
    ) -> Sequence[TriggerEvent | Exception | None]:
        """Return the result of a response for each of them."""
        if known and answer.status == http_request.NOT_MODIFIED:
            for wait in waits:
                wait.last_look = wait.seen
            return [None] * len(waits)
        page = _Page(answer)
        results = await polling.gather_results([wait.judge(page) for wait in waits])
        if http_request.is_unavailable(answer) and not any(results):
            words = f"{http_request.display_url(waits[0].url)} answered {answer.status}"
            raise polling.BusyError(words, http_request.retry_after(answer, waits[0].services.now()))
        for wait in waits:
            wait.note(answer)
        return results

    async def ask(self, services: Services, known: Mapping[str, str], most: int) -> HttpResponse:
        """Send one request, conditional on `known`, and read up to `most` bytes. Raises OSError without a response."""
        headers = http_request.plain_headers(self.headers)
        try:
            return await services.request(
                Request(
                    self.method, http_request.plain_text(self.url, "url"), {**known, **headers}, self.timeout, most=most
                )
            )
        except AddressDeniedError as error:
            raise http_request.denied(self.url, error) from error
        except OSError as error:
            raise ConnectionError(f"no answer from {http_request.display_url(self.url)}: {error}") from error

    def judge(self, page: "_Page") -> "Coroutine[Any, Any, TriggerEvent | None] | None":
        """Return the event if the response matches; a coroutine if the condition must be evaluated."""
        self.last_look = f"{http_request.display_url(self.url)} answered {page.answer.status}"
        if not http_request.in_ranges(self.status, page.answer.status):
            return None
        if isinstance(self.cursor, str) and http_request.is_same_version(self.cursor, page.version):
            self.last_look += "; it has not changed"
            return None
        return self._judged(page)

    def note(self, answer: HttpResponse) -> None:
        """Make the next request conditional on this response, if the server supports it."""
        self.known = http_request.conditional_headers(answer) if self._can_compare() else {}
        self.seen = self.last_look

    def _can_compare(self) -> bool:
        return self.method != "POST" and not http_request.has_conditions(self.headers)

    def _of_cursor(self) -> Mapping[str, str]:
        """Return the headers of a first request that is conditional on the cursor, if that is an ETag."""
        tag = self.cursor if isinstance(self.cursor, str) and http_request.is_tag(self.cursor) else None
        return {"If-None-Match": tag} if tag is not None and self._can_compare() else {}

    async def _judged(self, page: "_Page") -> TriggerEvent | None:
        if self.body_condition is not None:
            if page.has_too_many_values:
                raise AnswerTooLargeError(
                    f"the JSON of {http_request.display_url(self.url)} has more than {_VALUES} values"
                )
            verdict = await polling.evaluate_condition(
                self.services, self.body_condition, page.variables, "body_condition"
            )
            self.last_look += f"; {verdict.words}"
            if not verdict.holds:
                return None
        return TriggerEvent(page.event() if self.cursor is UNSET else page.event_with_cursor())


class _Page:
    """A response, parsed once for all deferrals."""

    def __init__(self, answer: HttpResponse) -> None:
        self.answer = answer
        self.has_too_many_values = _values(answer.body) > _VALUES
        self._document = None if self.has_too_many_values else _document(answer)
        self._event: dict[str, Any] | None = None
        self._version: str | None = None
        self.variables = {
            "response": {
                "status": answer.status,
                "headers": dict(answer.headers),
                "json": self._document,
                "text": answer.body.decode(errors="replace"),
            }
        }

    def event(self) -> dict[str, Any]:
        """Return the event, which is the same for all."""
        if self._event is None:
            self._event = payload(self.answer, self._document)
        return self._event

    def event_with_cursor(self) -> dict[str, Any]:
        """Return the event of a deferral with a cursor."""
        return payload(self.answer, self._document, cursor=self.version)

    @property
    def version(self) -> str:
        """The cursor after this response."""
        if self._version is None:
            tag = self.answer.headers.get("etag", "")
            modified = self.answer.headers.get("last-modified", "")  # all that distinguishes responses to HEAD
            digest = hashlib.sha256(self.answer.body or modified.encode()).hexdigest()
            self._version = tag if http_request.is_tag(tag) and len(tag) <= _TAG_MAX else f"sha256:{digest}"
        return self._version


def payload(answer: HttpResponse, document: Any, *, cursor: Cursor = UNSET) -> dict[str, Any]:
    """Return the event within its size limit, with `truncated` if something is missing."""
    headers = http_request.shown_headers(answer)
    event: dict[str, Any] = {"status": answer.status, "headers": headers, **cursors.stored(cursor)}
    if document is not None and _fits(event | {"json": document}):
        return event | {"json": document}
    if not _fits(event | {"text": "", "truncated": True}):
        event["headers"] = {}
    whole = answer.body.decode(errors="replace")
    shown = whole[:_TEXT_SHOWN]
    while not _fits(event | {"text": shown, "truncated": True}):
        shown = shown[: len(shown) // 2]
    return event | {"text": shown} | ({"truncated": True} if answer.truncated or len(shown) < len(whole) else {})


def _fits(event: dict[str, Any]) -> bool:
    try:
        return len(canonical.plain(event).encode()) <= constants.EVENT_MAX
    except canonical.NotJsonError:
        return False


def _values(body: bytes) -> int:
    """Return an upper bound of the number of JSON values."""
    return body.count(b",") + body.count(b"[") + body.count(b"{") + 1


def _document(answer: HttpResponse) -> Any:
    if answer.truncated or not answer.body:
        return None
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None

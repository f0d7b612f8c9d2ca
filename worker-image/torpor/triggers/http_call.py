"""Sends one HTTP request, and fails unless the status of the response is expected. The body of a task with `http`.

This trigger has a side effect. The request may be sent more than once: if a response is lost, or while two triggerers
own a deferral. So a POST or PATCH has an Idempotency-Key header, the same for each repetition within an attempt.
"""

import json as json_text
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from typing import Any

from torpor_wire import canonical

from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TaskSuccessEvent, TriggerEvent
from torpor.triggers.services import HttpResponse, Request, Services, TaskRunRef
from torpor.triggers.support import arguments, http_request
from torpor.triggers.support.arguments import Reference
from torpor.triggers.support.metering import (
    AddressDeniedError,
    AnswerTooLargeError,
    NoResponseError,
    ShareInUseError,
    UnexpectedResponseError,
    size,
)

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
KEY = "Idempotency-Key"
SUCCESS = ("200-299",)
TIMEOUT = 30.0
_KEYED = frozenset({"POST", "PATCH"})
_BODY_MAX = 4_096
_SMALL, _LARGE = 64 * 1024, 1024**2
"""Bytes of a response: the limit of any request, and that of a repeated GET with reserved memory."""
_VALUES = 100_000
"""Values of a JSON document. Each needs about 25 times its size as text."""
_SHOWN = 200
_PAUSE = 5.0


class HttpCall(BaseTrigger):
    """Sends one HTTP request. The event is `{status, headers}` with `json`, or with `text` if the body is not JSON.

    Any other status, no response, and a redirect fail the deferral, which `retries` of the task may repeat. A retry
    waits at least as long as Retry-After says.

        HttpCall("https://api.example.org/jobs", method="POST", json={"day": "2026-11-21"})

    Args:
        url: An http or https URL, or a SecretRef.
        method: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
        headers: Names and values; a value may be a SecretRef.
        body: Text to send.
        json: A JSON value to send instead of `body`.
        success: The expected status: a code, or a list of codes and ranges such as `"200-299"`.
        timeout: The limit of the request.
        as_result: Whether the body ends the task as its result: the JSON value, the text, or null for an empty body.
    """

    shareable = False

    def __init__(  # noqa: PLR0913 - the parts of an HTTP request, each with a default
        self,
        url: str | Reference,
        *,
        method: str = "GET",
        headers: Mapping[str, str | Reference] | None = None,
        body: str | None = None,
        json: Any = None,
        success: int | str | Iterable[int | str] = SUCCESS,
        timeout: timedelta | float | str = TIMEOUT,
        as_result: bool = False,
    ) -> None:
        self.url = http_request.url(url)
        self.method = http_request.method(method, METHODS)
        self.headers = http_request.headers(headers)
        self.body = _text(body)
        self.json = http_request.json_body(json, "json")
        self.success = http_request.parse_ranges(success)
        self.timeout = arguments.seconds(timeout, "timeout", least=1.0)
        self.as_result = arguments.flag(as_result, "as_result")
        _check(self)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        success = http_request.range_list(self.success)
        kept = None if success == [*SUCCESS] else success
        return "http_call", arguments.differing(self, HttpCall.__init__, headers=self.headers or None, success=kept)

    def bind(self, services: Services) -> None:
        """Check the timeout of the request. Raises ValueError."""
        super().bind(services)
        arguments.request_seconds(self.timeout, services.longest_request)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Send the request. Raises NoResponseError, UnexpectedResponseError, or AnswerTooLargeError."""
        answer = await self._answer()
        if not http_request.in_ranges(self.success, answer.status):
            raise UnexpectedResponseError(
                f"{self._answered(answer)}{http_request.reason_text(answer, _SHOWN)}",
                status=answer.status,
                retry_after=http_request.retry_after(answer, self.services.now()),
            )
        if answer.truncated:
            limit = size(_LARGE if self.method == "GET" else _SMALL)
            raise AnswerTooLargeError(
                f"{self._answered(answer)} with more than {limit}, the limit for {self.method}: ask for less"
            )
        yield TaskSuccessEvent(content(answer)) if self.as_result else TriggerEvent(event(answer))

    async def _answer(self) -> HttpResponse:
        """Return the response. A GET whose response is large is sent again, with memory reserved for it."""
        answer = await self._send(_SMALL)
        if self.method != "GET" or not answer.truncated or not http_request.in_ranges(self.success, answer.status):
            return answer
        while True:
            try:
                async with self.services.answering():
                    return await self._send(_LARGE)
            except ShareInUseError as error:
                await self._pause(error)

    async def _send(self, most: int) -> HttpResponse:
        """Return the response. Waits while the namespace has its share of requests under way."""
        request = self._request(most)
        while True:
            try:
                return await self.services.request(request)
            except ShareInUseError as error:
                await self._pause(error)
            except AddressDeniedError as error:
                raise http_request.denied(self.url, error) from error
            except OSError as error:
                shown = http_request.display_url(self.url)
                raise NoResponseError(f"{self.method} {shown}: no response: {error}") from error

    async def _pause(self, error: ShareInUseError) -> None:
        self.last_look = str(error)
        await self.services.sleep(_PAUSE * (1.0 + self.services.jitter()))

    def _request(self, most: int) -> Request:
        url, headers = http_request.plain_text(self.url, "url"), http_request.plain_headers(self.headers)
        text = self.body if self.json is None else canonical.plain(self.json)
        data = None if text is None else text.encode()
        own: dict[str, str] = {}
        if self.method in _KEYED:
            own[KEY] = idempotency_key(self.services.taskrun)
        if data is not None:
            own["Content-Type"] = "text/plain; charset=utf-8" if self.json is None else "application/json"
        given = {name.lower() for name in headers}
        added = {name: value for name, value in own.items() if name.lower() not in given}
        return Request(self.method, url, {**headers, **added}, self.timeout, body=data, follow=False, most=most)

    def _answered(self, answer: HttpResponse) -> str:
        return f"{self.method} {http_request.display_url(self.url)} answered {answer.status}"


def idempotency_key(taskrun: TaskRunRef) -> str:
    """Return a key that is the same for each repetition of the request of an attempt, and differs from all others."""
    return f"{taskrun.uid}-{taskrun.attempt}-{taskrun.segment}"


def event(answer: HttpResponse) -> dict[str, Any]:
    """Return the event of a response, whose headers are those of which http_request.SHOWN_HEADERS has the names."""
    shown = {"status": answer.status, "headers": http_request.shown_headers(answer)}
    if not answer.body:
        return shown
    document = _document(answer)
    return shown | ({"text": _decoded(answer)} if document is None else {"json": document})


def content(answer: HttpResponse) -> Any:
    """Return the body: a JSON value, or text if it is not JSON, or None if it is empty."""
    if not answer.body:
        return None
    document = _document(answer)
    return _decoded(answer) if document is None else document


def _document(answer: HttpResponse) -> Any:
    """Return the JSON value of the body, None if it is not JSON. Raises AnswerTooLargeError for too many values."""
    if answer.body.count(b",") + answer.body.count(b"[") + answer.body.count(b"{") >= _VALUES:
        raise AnswerTooLargeError(f"the JSON of the response has more than {_VALUES} values: ask for less")
    try:
        document = json_text.loads(answer.body)
        canonical.plain(document)
    except (ValueError, RecursionError):
        return None
    return document


def _decoded(answer: HttpResponse) -> str:
    return answer.body.decode(errors="replace")


def _text(body: object) -> str | None:
    if body is not None and not isinstance(body, str):
        raise TypeError(f"body must be text, not {type(body).__name__}; use json for a JSON value")
    if body is not None and len(body) > _BODY_MAX:
        raise ValueError(f"body has {len(body)} characters; {_BODY_MAX} are allowed")
    return body


def _check(call: HttpCall) -> None:
    """Raise ValueError for arguments that do not belong together."""
    if call.body is not None and call.json is not None:
        raise ValueError("give body or json, not both")
    if call.method in WITHOUT_BODY and (call.body is not None or call.json is not None):
        raise ValueError(f"{call.method} has no body; use POST, PUT, PATCH or DELETE, or remove body and json")

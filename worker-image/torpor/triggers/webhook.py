"""Calls a web service until it accepts the call.

This trigger has a side effect, as have `notification` and `mail`. A call may happen more than once: if a response is
lost, or while two triggerers own a deferral. Each call of a deferral has the same Idempotency-Key header.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

from torpor_wire import canonical

from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Request, Services, TaskRunRef
from torpor.triggers.support import arguments, http_request, polling
from torpor.triggers.support.arguments import Reference
from torpor.triggers.support.http_request import RequestDelays, is_unavailable
from torpor.triggers.support.metering import AddressDeniedError

METHODS = ("POST", "PUT")
KEY = "Idempotency-Key"
PAUSE_MAX = 300.0
_TAKEN = range(200, 300)
_LATER = frozenset({408, 425})
_SAID = 200
_READ = 4096


class WebhookRefusedError(Exception):
    """The service rejected the call, and a retry would not help."""


class Webhook(BaseTrigger):
    """Calls a URL, and fires when it responds with 2xx. The event is `{status}`.

    Without a response, and after 5xx, 408, 425 or 429, the call is repeated after `interval`, which doubles up to 5
    minutes. Any other response fails the deferral.

        Webhook("https://hooks.example.org/done", body={"day": "2026-11-21"})

    Args:
        url: An http or https URL, or a SecretRef.
        body: A JSON value to send; None sends no body.
        method: POST or PUT.
        headers: Names and values; a value may be a SecretRef.
        interval: The first delay before a repeated call: a timedelta, seconds, or text such as `30s`.
        timeout: The limit of one call.
    """

    def __init__(  # noqa: PLR0913 - the parts of an HTTP request, each with a default
        self,
        url: str | Reference,
        *,
        body: Any = None,
        method: str = "POST",
        headers: Mapping[str, str | Reference] | None = None,
        interval: timedelta | float | str = http_request.INTERVAL,
        timeout: timedelta | float | str = http_request.TIMEOUT,
    ) -> None:
        self.url = http_request.url(url)
        self.body = http_request.json_body(body, "body")
        self.method = http_request.method(method, METHODS)
        self.headers = http_request.headers(headers)
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        self.timeout = arguments.seconds(timeout, "timeout", least=polling.INTERVAL_MIN)
        self._pace = RequestDelays(self.interval, most=max(PAUSE_MAX, self.interval))

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        return "webhook", arguments.differing(self, Webhook.__init__, headers=self.headers or None)

    def bind(self, services: Services) -> None:
        """Check the timeout of a call. Raises ValueError."""
        super().bind(services)
        arguments.request_seconds(self.timeout, services.longest_request)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Call until the service accepts. Raises WebhookRefusedError if it rejects the call."""
        request = self._request()
        while True:
            status = await self._call(request)
            if status is not None:
                yield TriggerEvent({"status": status})
                return
            await self.services.sleep(self._pace.pause(self.services.jitter()))

    async def _call(self, request: Request) -> int | None:
        """Return the status of an accepted call, None to repeat it."""
        try:
            answer = await self.services.request(request)
        except AddressDeniedError as error:
            raise http_request.denied(self.url, error) from error
        except OSError as error:
            self._pace.note(None, self.services.now())
            self.last_look = f"no answer from {http_request.display_url(self.url)}: {error}"
            return None
        self._pace.note(answer, self.services.now())
        self.last_look = f"{http_request.display_url(self.url)} answered {answer.status}"
        if answer.status in _TAKEN:
            return answer.status
        if is_unavailable(answer) or answer.status in _LATER:
            return None
        raise WebhookRefusedError(f"{self.last_look}{http_request.reason_text(answer, _SAID)}")

    def _request(self) -> Request:
        url, headers = http_request.plain_text(self.url, "url"), http_request.plain_headers(self.headers)
        data = None if self.body is None else canonical.plain(self.body).encode()
        given = {name.lower() for name in headers}
        own = {KEY: idempotency_key(self.services.taskrun, self.method, url, data)}
        if data is not None:
            own["Content-Type"] = "application/json"
        added = {name: value for name, value in own.items() if name.lower() not in given}
        return Request(self.method, url, {**headers, **added}, self.timeout, body=data, follow=False, most=_READ)


def idempotency_key(taskrun: TaskRunRef, method: str, url: str, data: bytes | None) -> str:
    """Return a key that is the same for each repetition of a call of one deferral, and differs from all other calls."""
    what = canonical.digest(method, url, (data or b"").decode())[:12]
    return f"{taskrun.uid}-{taskrun.attempt}-{taskrun.segment}-{what}"

"""Sends a message to a chat or alert service, until the service accepts it.

A message may arrive more than once: if a response is lost, or while two triggerers own a deferral. It has the same id
each time, by which PagerDuty, and a web service of one's own, recognize it.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

from torpor_wire import canonical

from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Request, Services
from torpor.triggers.support import arguments, delivery, http_request, notification_payloads
from torpor.triggers.support.arguments import Reference, Revealed
from torpor.triggers.support.delivery import MessageRefusedError, ReceiverUnavailableError
from torpor.triggers.support.metering import AddressDeniedError
from torpor.triggers.support.notification_payloads import PAGERDUTY_URL, Message

SERVICES = ("slack", "teams", "pagerduty", "webhook")
KEY = "Idempotency-Key"
TEXT_MAX = 4_000
_TAKEN = range(200, 300)
_LATER = frozenset({408, 425})
_READ = 4096
_SAID = 200


class Notification(BaseTrigger):
    """Sends a message to Slack, Teams, PagerDuty or a web service. The event is `{status, id}`.

    Without a response, and after 5xx, 408, 425 or 429, the message is sent again, after the time of Retry-After or a
    pause that grows up to 5 minutes. Any other response fails the deferral. Messages of a namespace to one receiver
    start at least a second apart in each triggerer.

        Notification("slack", "backup failed", url=SecretRef("chat", "url"))

    Args:
        service: slack, teams, pagerduty or webhook.
        title: The message in one line.
        text: More text.
        url: A SecretRef to the URL of the incoming webhook. For `webhook`, a URL or a SecretRef. For `pagerduty`, the
            URL of the Events API, by default that of the US region.
        key: For `pagerduty`: a SecretRef to the routing key.
        headers: For `webhook`: names and values; a value may be a SecretRef.
        event: What happened, such as failure. PagerDuty gets a severity by it.
        origin: The namespace and name of the run.
        id: Identifies the message. Default: the deferral.
        timeout: The limit of one call.
    """

    def __init__(  # noqa: PLR0913 - the parts of a message, each with a default
        self,
        service: str,
        title: str,
        *,
        text: str = "",
        url: str | Reference | None = None,
        key: str | Reference | None = None,
        headers: Mapping[str, str | Reference] | None = None,
        event: str = "",
        origin: str = "",
        id: str = "",  # noqa: A002 - the field of the message
        timeout: timedelta | float | str = http_request.TIMEOUT,
    ) -> None:
        if service not in SERVICES:
            raise ValueError(f"service must be one of {', '.join(SERVICES)}, not {service!r:.100}")
        self.service = service
        self.title = notification_payloads.single_line(arguments.text(title, "title", most=TEXT_MAX))
        self.text = _text(text)
        self.url = None if url is None else http_request.url(url)
        self.key = None if key is None else arguments.reference_or_text(key, "key")
        self.headers = http_request.headers(headers)
        self.event, self.origin, self.id = (
            value and arguments.text(value, name, most=253)
            for name, value in (("event", event), ("origin", origin), ("id", id))
        )
        self.timeout = arguments.seconds(timeout, "timeout", least=1.0)
        _check(self)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        return "notification", arguments.differing(self, Notification.__init__, headers=self.headers or None)

    def bind(self, services: Services) -> None:
        """Check the timeout of a call. Raises ValueError."""
        super().bind(services)
        arguments.request_seconds(self.timeout, services.longest_request)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Send until the service accepts. Raises MessageRefusedError if it rejects the message."""
        message = self._message()
        request = self._request(message)
        receiver = (self.service, request.url, self.key)
        status = await delivery.deliver(self, receiver, lambda: self._send(request))
        yield TriggerEvent({"status": status, "id": message.id})

    async def _send(self, request: Request) -> int:
        """Return the status of an accepted call. Raises OSError to repeat it."""
        shown = self._shown()
        try:
            answer = await self.services.request(request)
        except AddressDeniedError as error:
            raise http_request.denied(self.url or PAGERDUTY_URL, error) from error
        except OSError as error:
            raise ReceiverUnavailableError(f"no answer from {shown}: {error}") from error
        words = f"{shown} answered {answer.status}"
        if notification_payloads.is_limited(self.service, answer.body):
            raise ReceiverUnavailableError(f"{words}: the limit of Teams is reached")
        if answer.status in _TAKEN:
            return answer.status
        if http_request.is_unavailable(answer) or answer.status in _LATER:
            raise ReceiverUnavailableError(words, http_request.retry_after(answer, self.services.now()))
        raise MessageRefusedError(f"{words}{http_request.reason_text(answer, _SAID)}")

    def _message(self) -> Message:
        taskrun = self.services.taskrun
        identity = self.id or f"{taskrun.uid}-{taskrun.attempt}-{taskrun.segment}"
        source = self.origin or f"{self.services.namespace}/{taskrun.name}"
        return Message(id=identity, event=self.event, title=self.title, text=self.text, source=source)

    def _request(self, message: Message) -> Request:
        url = http_request.plain_text(self.url or PAGERDUTY_URL, "url")
        headers = http_request.plain_headers(self.headers)
        given = {name.lower() for name in headers}
        own = {KEY: message.id, "Content-Type": "application/json"}
        added = {name: value for name, value in own.items() if name.lower() not in given}
        body = canonical.plain(self._body(message)).encode()
        return Request("POST", url, {**headers, **added}, self.timeout, body=body, follow=False, most=_READ)

    def _body(self, message: Message) -> dict[str, Any]:
        match self.service:
            case "slack":
                return notification_payloads.slack(message)
            case "teams":
                return notification_payloads.teams(message)
            case "pagerduty":
                return notification_payloads.pagerduty(message, http_request.plain_text(self.key or "", "key"))
            case _:
                return notification_payloads.webhook(message)

    def _shown(self) -> str:
        """Return the receiver for messages, without a URL that comes from a Secret."""
        if self.service != "webhook" or self.url is None:
            return self.service
        return http_request.display_url(self.url)


def _check(notification: Notification) -> None:
    """Raise ValueError for arguments that the service does not have."""
    service, url, key = notification.service, notification.url, notification.key
    if service == "pagerduty" and key is None:
        raise ValueError("pagerduty needs key, a secretRef to the routing key")
    if service != "pagerduty" and key is not None:
        raise ValueError(f"key is for pagerduty, not {service}")
    if service != "pagerduty" and url is None:
        raise ValueError(f"{service} needs url")
    if service in {"slack", "teams"} and isinstance(url, str) and not isinstance(url, Revealed):
        raise ValueError(f"the url of {service} is a secret, and the TaskRun would show it: use a secretRef")
    if isinstance(key, str) and not isinstance(key, Revealed):
        raise ValueError("key is a secret, and the TaskRun would show it: use a secretRef")  # noqa: TRY004 - its origin
    if notification.headers and service != "webhook":
        raise ValueError(f"headers are for webhook, not {service}")


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text must be text, not {type(text).__name__}")
    if len(text) > TEXT_MAX:
        raise ValueError(f"text has {len(text)} characters; {TEXT_MAX} are allowed")
    return text

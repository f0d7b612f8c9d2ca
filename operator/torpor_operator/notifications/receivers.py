"""The trigger that sends a message to the receiver of an entry. Pure."""

from torpor_crds.models.notify import MailReceiver, Notify, SecretSource, WebhookReceiver
from torpor_crds.models.taskrun import TriggerCall
from torpor_expressions.value import JSON
from torpor_wire import canonical, constants
from torpor_wire.secret_ref import SecretRef

from torpor_operator.notifications.due import DueNotification
from torpor_operator.notifications.messages import MessageText

TIMEOUT = "24h"
"""How long a message is sent again. A receiver that is down for a day loses it, and the run says so."""
_TEXT_MIN = 100


class ReceiverError(ValueError):
    """Why no trigger can send to the receiver."""


def trigger_call(due: DueNotification, message: MessageText, origin: str) -> TriggerCall:
    """The trigger with a text that fits into its kwargs. Raises ReceiverError if no text does."""
    text = message.text
    while True:
        class_name, kwargs = _call(due, message.title, text, origin)
        written = canonical.plain(kwargs)
        if len(written.encode()) <= constants.KWARGS_MAX:
            return TriggerCall(class_name=class_name, kwargs=written, timeout=TIMEOUT)
        if len(text) < _TEXT_MIN:
            size = len(written.encode())
            raise ReceiverError(f"the receiver and the title have {size} bytes; the limit is {constants.KWARGS_MAX}")
        text = text[: len(text) // 2]


def kind(entry: Notify) -> str:
    """The service of the receiver."""
    return next((name for name in type(entry.to).model_fields if getattr(entry.to, name) is not None), "nothing")


def _call(due: DueNotification, title: str, text: str, origin: str) -> tuple[str, dict[str, JSON]]:
    to = due.entry.to
    if to.mail is not None:
        return "mail", _mail(to.mail) | {"subject": title, "text": text, "id": due.id}
    written: dict[str, JSON] = {
        "service": kind(due.entry),
        "title": title,
        "text": text,
        "event": str(due.event),
        "origin": origin[:253],
        "id": due.id,
    }
    if to.slack is not None:
        return "notification", written | {"url": _reference(to.slack.url)}
    if to.teams is not None:
        return "notification", written | {"url": _reference(to.teams.url)}
    if to.pagerduty is not None:
        address: dict[str, JSON] = {} if to.pagerduty.url is None else {"url": to.pagerduty.url}
        return "notification", written | address | {"key": _reference(to.pagerduty.key)}
    if to.webhook is not None:
        return "notification", written | _webhook(to.webhook)
    raise ReceiverError("`to` has no receiver that this version knows")


def _webhook(to: WebhookReceiver) -> dict[str, JSON]:
    url: JSON = _reference(to.url_from) if to.url_from is not None else to.url
    if url is None:
        raise ReceiverError("the webhook has neither url nor urlFrom")
    headers: dict[str, JSON] = {
        header.name: _reference(header.value_from) if header.value_from is not None else header.value or ""
        for header in to.headers
    }
    written: dict[str, JSON] = {"url": url}
    return {**written, "headers": headers} if headers else written


def _mail(to: MailReceiver) -> dict[str, JSON]:
    secrets = {"user": to.user, "password": to.password}
    login: dict[str, JSON] = {name: _reference(secret) for name, secret in secrets.items() if secret is not None}
    recipients: list[JSON] = [*to.to]
    written: dict[str, JSON] = {"server": to.server, "port": to.port, "tls": str(to.tls), "sender": to.sender}
    return {**written, **login, "to": recipients}


def _reference(secret: SecretSource) -> dict[str, JSON]:
    """The reference as an author wrote it: the triggerer follows marked ones only (ADR 0017)."""
    return SecretRef(secret.secret_ref.name, secret.secret_ref.key).written()

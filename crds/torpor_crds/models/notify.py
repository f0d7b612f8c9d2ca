"""Notifications of a run: events and receivers, and what became of each message (ADR 0069)."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field
from torpor_wire import constants
from torpor_wire.enums import MailTls, NotificationState, NotifyEvent

from torpor_crds.models.base import (
    Duration,
    Expression,
    Message,
    Model,
    Name,
    ObjectName,
    PrintableLine,
    Time,
)
from torpor_crds.models.program import SecretKey

_URL = {"pattern": r"^https?://[^\s]+$"}
_HOST = {"pattern": r"^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$"}
_ADDRESS = {"pattern": r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$"}
_HEADER = {"pattern": r"^[A-Za-z0-9-]+$"}
MailAddress = Annotated[str, Field(max_length=253, json_schema_extra=_ADDRESS)]


class SecretSource(Model):
    """A value that is in a Secret."""

    secret_ref: Annotated[SecretKey, Field(description="Key of a Secret of the namespace.")]


class ChatReceiver(Model):
    """An incoming webhook of a chat service."""

    url: Annotated[SecretSource, Field(description="URL of the incoming webhook.")]


class PagerDutyReceiver(Model):
    """A service of PagerDuty, by its Events API v2."""

    key: Annotated[SecretSource, Field(description="Routing key of the service.")]
    url: Annotated[
        str | None,
        Field(
            max_length=2048,
            json_schema_extra=_URL,
            description="URL of the Events API. Unset: https://events.pagerduty.com/v2/enqueue.",
        ),
    ] = None


class WebhookHeader(Model):
    """A header of a call, with a value or a Secret."""

    name: Annotated[str, Field(min_length=1, max_length=64, json_schema_extra=_HEADER, description="Name.")]
    value: Annotated[PrintableLine | None, Field(description="Value. Set it, or valueFrom.")] = None
    value_from: Annotated[SecretSource | None, Field(description="Where the value is. Set it, or value.")] = None


class WebhookReceiver(Model):
    """A web service that gets a JSON object with id, event, title, text and source."""

    url: Annotated[
        str | None,
        Field(max_length=2048, json_schema_extra=_URL, description="URL without secrets. Set it, or urlFrom."),
    ] = None
    url_from: Annotated[SecretSource | None, Field(description="Where the URL is. Set it, or url.")] = None
    headers: Annotated[
        tuple[WebhookHeader, ...],
        Field(max_length=8, description="Further headers.", json_schema_extra={"x-key": "name"}),
    ] = ()


class MailReceiver(Model):
    """Recipients of a mail, and the SMTP server that sends it."""

    server: Annotated[
        str, Field(min_length=1, max_length=253, json_schema_extra=_HOST, description="Host name of the SMTP server.")
    ]
    port: Annotated[int, Field(ge=1, le=65_535, description="Port of the server.")] = 587
    tls: Annotated[MailTls, Field(description="starttls, tls, or none. A login needs TLS.")] = MailTls.STARTTLS
    sender: Annotated[MailAddress, Field(alias="from", description="Address of the sender.")]
    to: Annotated[tuple[MailAddress, ...], Field(min_length=1, max_length=20, description="Addresses of recipients.")]
    user: Annotated[SecretSource | None, Field(description="Name for the login. It belongs to password.")] = None
    password: Annotated[SecretSource | None, Field(description="Password for the login.")] = None


class Receiver(Model):
    """Where a notification goes: exactly one of slack, teams, pagerduty, mail and webhook."""

    slack: Annotated[ChatReceiver | None, Field(description="A channel of Slack.")] = None
    teams: Annotated[ChatReceiver | None, Field(description="A channel of Microsoft Teams.")] = None
    pagerduty: Annotated[PagerDutyReceiver | None, Field(description="A service of PagerDuty.")] = None
    mail: Annotated[MailReceiver | None, Field(description="A mail.")] = None
    webhook: Annotated[WebhookReceiver | None, Field(description="A web service.")] = None


class Notify(Model):
    """A receiver, and the events of a run that it gets."""

    name: Annotated[Name, Field(description="Name. An entry replaces that of the same name in the defaults.")]
    events: Annotated[
        tuple[NotifyEvent, ...],
        Field(
            min_length=1,
            max_length=4,
            description="Events: failure (the run failed, was stopped, or timed out), success, late (it has not ended "
            "`after` its time), and approval (a task waits for an approval).",
        ),
    ]
    after: Annotated[
        Duration | None,
        Field(
            description="For late: how long after the tick of its Schedule, or its creation, the run is late. It "
            "counts while the run is queued or suspended, too."
        ),
    ] = None
    to: Annotated[Receiver, Field(description="Exactly one of slack, teams, pagerduty, mail and webhook.")]
    title: Annotated[
        Expression | None,
        Field(
            description="Title, as text with `${...}` expressions over `params`, `run` and `notification` (`event`, "
            "and `task` of an approval). Unset: the run and what happened."
        ),
    ] = None
    text: Annotated[
        Expression | None, Field(description="Text, as `title`. Unset: the reason and message of the run.")
    ] = None


NotifyList = Annotated[
    tuple[Notify, ...],
    Field(
        max_length=10,
        description="Receivers of notifications about the end of the run, a late run, and approvals.",
        json_schema_extra={"x-key": "name"},
    ),
]


class NotificationOf(Model):
    """What a TaskRun notifies of."""

    id: Annotated[str, Field(max_length=63, description="Identifies the message. Each call has it.")]
    notify: Annotated[Name, Field(description="Name of the entry of spec.notify.")]
    event: Annotated[NotifyEvent, Field(description="Event of the run.")]
    about: Annotated[ObjectName | None, Field(description="TaskRun that waits for an approval.")] = None


class NotificationStatus(Model):
    """What became of one notification."""

    id: Annotated[
        str,
        Field(max_length=63, description="Identifies the message. The receiver gets it each time that it is sent."),
    ]
    notify: Annotated[Name, Field(description="Name of the entry of spec.notify.")]
    event: Annotated[NotifyEvent, Field(description="Event of the run.")]
    state: Annotated[NotificationState, Field(description="Pending, Delivered or Failed.")]
    taskrun: Annotated[ObjectName, Field(description="TaskRun that sends it.")]
    time: Annotated[Time, Field(description="When it was created, or reached its last state.")]
    message: Annotated[Message | None, Field(description="Why it is not delivered.")] = None


NotificationList = Annotated[
    tuple[NotificationStatus, ...],
    Field(
        max_length=constants.NOTIFICATIONS_MAX,
        description="Notifications of the run, the oldest first.",
        json_schema_extra={"x-key": "id"},
    ),
]


def by_name(own: Iterable[Notify], defaults: Iterable[Notify]) -> tuple[Notify, ...]:
    """The entries of a run: its own, and those of the defaults that have another name."""
    return tuple(({entry.name: entry for entry in defaults} | {entry.name: entry for entry in own}).values())

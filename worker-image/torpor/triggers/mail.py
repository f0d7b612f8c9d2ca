"""Sends a mail by an SMTP server, until the server accepts it.

A mail may arrive more than once: if a response is lost, or while two triggerers own a deferral. It has the same
Message-ID each time, by which mail servers and clients recognize it.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, delivery, http_request, notification_payloads, smtp
from torpor.triggers.support.arguments import Reference, Revealed

TLS_MODES = ("starttls", "tls", "none")
PORT = 587
TIMEOUT = 20.0
RECIPIENTS_MAX = 20
TEXT_MAX = 4_000
_PORT_MAX = 65_535
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,188}[A-Za-z0-9])?")
_DIGITS = re.compile(r"[^A-Za-z0-9.-]")


class Mail(BaseTrigger):
    """Sends a mail. The event is `{id}`.

    If the server is unavailable or answers 4xx, the mail is sent again after a pause that grows up to 5 minutes. 5xx
    fails the deferral, so does a rejected login. Mails of a namespace to one server start at least a second apart in
    each triggerer.

        Mail("smtp.example.org", sender="torpor@example.org", to=["team@example.org"], subject="backup failed")

    Args:
        server: The host name of the SMTP server.
        sender: The address of the sender.
        to: The addresses of the recipients.
        subject: The subject, in one line.
        text: The text of the mail.
        port: From 1 to 65535.
        tls: starttls, tls, or none. A login needs TLS.
        user: The name for the login, or a SecretRef.
        password: A SecretRef to the password.
        id: Identifies the mail. Default: the deferral.
        timeout: The limit of one attempt.
    """

    requires = ("aiosmtplib",)
    extra = "torpor[mail]"

    def __init__(  # noqa: PLR0913 - the parts of a mail, each with a default
        self,
        server: str,
        *,
        sender: str,
        to: Sequence[str],
        subject: str,
        text: str = "",
        port: int = PORT,
        tls: str = TLS_MODES[0],
        user: str | Reference | None = None,
        password: str | Reference | None = None,
        id: str = "",  # noqa: A002 - the field of the message
        timeout: timedelta | float | str = TIMEOUT,
    ) -> None:
        self.server = _host(server)
        self.sender = _address(sender, "sender")
        self.to = _recipients(to)
        self.subject = notification_payloads.single_line(arguments.text(subject, "subject", most=TEXT_MAX))
        if len(text) > TEXT_MAX:
            raise ValueError(f"text has {len(text)} characters; {TEXT_MAX} are allowed")
        self.text = text
        self.port = arguments.count(port, "port", most=_PORT_MAX)
        if tls not in TLS_MODES:
            raise ValueError(f"tls must be one of {', '.join(TLS_MODES)}, not {tls!r:.100}")
        self.tls = tls
        self.user = None if user is None else arguments.reference_or_text(user, "user")
        self.password = None if password is None else arguments.reference_or_text(password, "password")
        self.id = id and arguments.text(id, "id", most=253)
        self.timeout = arguments.seconds(timeout, "timeout", least=1.0)
        self._check_login()

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        return "mail", arguments.differing(self, Mail.__init__, to=[*self.to])

    def bind(self, services: Services) -> None:
        """Check the timeout of an attempt. Raises ValueError."""
        super().bind(services)
        arguments.request_seconds(self.timeout, services.longest_request)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Send until the server accepts. Raises MessageRefusedError if it rejects the mail."""
        mail = self._mail()
        server = smtp.SmtpServer(
            host=self.server,
            port=self.port,
            tls=self.tls,
            user=None if self.user is None else http_request.plain_text(self.user, "user"),
            password=None if self.password is None else http_request.plain_text(self.password, "password"),
        )
        context = None if self.tls == "none" else await self.services.in_thread(smtp.tls_context)
        receiver = ("mail", self.server, self.port, self.user)
        await delivery.deliver(self, receiver, lambda: smtp.send(self.services, server, mail, context, self.timeout))
        yield TriggerEvent({"id": mail.id})

    def _mail(self) -> smtp.MailText:
        taskrun = self.services.taskrun
        identity = self.id or f"{taskrun.uid}-{taskrun.attempt}-{taskrun.segment}"
        domain = self.sender.rpartition("@")[2]
        return smtp.MailText(
            id=f"<{_DIGITS.sub('-', identity)}@{domain}>",
            sender=self.sender,
            to=self.to,
            subject=self.subject,
            text=self.text or self.subject,
        )

    def _check_login(self) -> None:
        if (self.user is None) != (self.password is None):
            raise ValueError("user and password belong together")
        if isinstance(self.password, str) and not isinstance(self.password, Revealed):
            raise ValueError("password is readable on the TaskRun; it is a secret: use a secretRef")  # noqa: TRY004
        if self.user is not None and self.tls == "none":
            raise ValueError("a login without TLS would send the password readable: use tls: starttls or tls: tls")


def _host(server: object) -> str:
    name = arguments.text(server, "server", most=253)
    if not _HOST.fullmatch(name):
        raise ValueError(f"server {name[:100]!r} is not a host name; the port is a separate argument")
    return name


def _recipients(to: object) -> tuple[str, ...]:
    if isinstance(to, str) or not isinstance(to, Sequence):
        raise TypeError("to must be a list of addresses")
    if not 1 <= len(to) <= RECIPIENTS_MAX:
        raise ValueError(f"to has {len(to)} addresses; 1 to {RECIPIENTS_MAX} are allowed")
    return tuple(_address(each, "to") for each in to)


def _address(value: object, name: str) -> str:
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise ValueError(f"{name}: {value!r:.100} is not a mail address such as team@example.org")
    return value

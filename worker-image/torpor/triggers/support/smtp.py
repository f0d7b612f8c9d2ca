"""Sends one mail to an SMTP server, over a connection of the triggerer.

The triggerer connects, so its address rules and limits apply; `aiosmtplib` speaks the protocol.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torpor.triggers.support import notification_payloads
from torpor.triggers.support.delivery import MessageRefusedError, ReceiverUnavailableError
from torpor.triggers.support.metering import AddressDeniedError, ByteMeter

if TYPE_CHECKING:
    import ssl
    from email.message import EmailMessage

    from torpor.triggers.services import Services

_ANSWER_BYTES = 64 * 1024
_PERMANENT = range(500, 600)
_SAID = 300


class SmtpServer(NamedTuple):
    """An SMTP server and a login; `tls` is starttls, tls or none."""

    host: str
    port: int
    tls: str
    user: str | None = None
    password: str | None = None

    def __str__(self) -> str:
        return f"{self.host} port {self.port}"


class MailText(NamedTuple):
    """A mail. Subject and addresses are one line each."""

    id: str
    sender: str
    to: Sequence[str]
    subject: str
    text: str


def tls_context() -> "ssl.SSLContext":
    """Return a context with the certificates of the system, whose reading blocks for some 20 ms."""
    import ssl

    return ssl.create_default_context()


async def send(
    services: "Services", server: SmtpServer, mail: MailText, context: "ssl.SSLContext | None", seconds: float
) -> None:
    """Send the mail once.

    Raises OSError to repeat it, MessageRefusedError or AddressDeniedError if that would not help.
    """
    import asyncio

    from aiosmtplib import SMTP, errors

    try:
        meter = ByteMeter(_ANSWER_BYTES)
        opened = await services.connect(server.host, server.port, seconds=seconds, meter=meter)
    except AddressDeniedError:
        raise
    except OSError as error:
        raise ReceiverUnavailableError(f"{server} does not answer: {error}") from error
    client = SMTP(
        hostname=server.host,
        sock=opened,
        timeout=seconds,
        use_tls=server.tls == "tls",
        start_tls=server.tls == "starttls",
        tls_context=context,
    )
    try:
        await client.connect()
        if server.user is not None and server.password is not None:
            await client.login(server.user, server.password)
        await client.send_message(_message(mail))
    except (errors.SMTPException, OSError, ValueError) as error:
        raise _meant(server, error) from error
    finally:
        # The transport owns the socket. Closing it politely would wait for the server, up to half a minute with TLS.
        if isinstance(client.transport, asyncio.WriteTransport):
            client.transport.abort()
        client.close()


def _message(mail: MailText) -> "EmailMessage":
    """Return the mail of the library, which rejects a header with a line break."""
    from email import policy
    from email.message import EmailMessage

    message = EmailMessage(policy=policy.SMTP)
    message["Message-ID"] = mail.id
    message["From"], message["To"], message["Subject"] = mail.sender, ", ".join(mail.to), mail.subject
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    return message


def _meant(server: SmtpServer, error: Exception) -> Exception:
    """Return the error of the library as one of ours. The certificate of a server can be corrected, so it is tried."""
    from aiosmtplib import errors

    match error:
        case errors.SMTPNotSupported():
            is_final = True
        case errors.SMTPRecipientsRefused():
            is_final = all(refused.code in _PERMANENT for refused in error.recipients)
        case errors.SMTPResponseException():
            is_final = error.code in _PERMANENT
        case OSError():  # also an invalid certificate, which is a ValueError as well
            is_final = False
        case _:
            is_final = isinstance(error, ValueError)
    said = notification_payloads.single_line(str(error))[:_SAID] or type(error).__name__
    words = f"{server}: {said}"
    return MessageRefusedError(words) if is_final else ReceiverUnavailableError(words)

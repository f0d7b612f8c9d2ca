"""`notification` and `mail` against real servers: what arrives, what is tried again, and what is not."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message as ReceivedMail
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from torpor.triggers import Mail, Notification
from torpor.triggers.support import smtp
from torpor.triggers.support.arguments import Revealed
from torpor.triggers.support.delivery import MessageRefusedError
from torpor.triggers.support.metering import AddressDeniedError
from torpor_archive.tls import create_key_pair
from torpor_triggerer.network.addresses import Addresses
from torpor_triggerer.network.connections import OutboundNetwork
from torpor_triggerer.services.http import connect

from tests.integration.triggers.passing import NeverError, PassingClock
from tests.integration.triggers.site import HttpSite, ReceivedRequest, Reply, says, site
from tests.support.fake_services import services

MESSAGE: dict[str, Any] = {
    "title": "ns/run failed",
    "text": "Error: <!channel> broke",
    "event": "failure",
    "origin": "ns/run",
    "id": "0b5d-1",
}


async def fires(trigger: Any, at: HttpSite, clock: PassingClock | None = None) -> Any:
    trigger.bind(services(web=at.client, clock=clock or PassingClock()))
    return (await anext(aiter(trigger.run()))).payload


def slack(request: ReceivedRequest) -> Any:
    """What Slack answers to an incoming webhook."""
    body = json.loads(request.body)
    is_valid = request.headers["content-type"] == "application/json" and isinstance(body.get("text"), str)
    return web.Response(status=200 if is_valid else 400, text="ok" if is_valid else "invalid_payload")


def teams(request: ReceivedRequest) -> Any:
    """What a workflow of Teams answers."""
    body = json.loads(request.body)
    (attachment,) = body["attachments"]
    card = attachment["content"]
    is_valid = (
        body["type"] == "message"
        and attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        and (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
        and all(block["inlines"][0]["type"] == "TextRun" for block in card["body"])
    )
    return web.Response(status=202 if is_valid else 400)


def pagerduty(request: ReceivedRequest) -> Any:
    """What PagerDuty's Events API v2 answers."""
    event = json.loads(request.body)
    payload = event["payload"]
    is_valid = (
        event["event_action"] in {"trigger", "acknowledge", "resolve"}
        and len(event["dedup_key"]) <= 255
        and payload["severity"] in {"critical", "error", "warning", "info"}
        and bool(payload["summary"] and payload["source"])
    )
    return web.json_response({"status": "success", "dedup_key": event["dedup_key"]}, status=202 if is_valid else 400)


@pytest.mark.parametrize(("service", "reply"), [("slack", slack), ("teams", teams), ("pagerduty", pagerduty)])
async def test_each_service_accepts_its_message(service: str, reply: Reply) -> None:
    async with site(reply) as at:
        key: dict[str, Any] = {"key": Revealed("routing")} if service == "pagerduty" else {}
        waiting = Notification(service, url=Revealed(f"{at.url}/hook"), **key, **MESSAGE)
        assert (await fires(waiting, at))["id"] == "0b5d-1"
        assert at.requests[0].headers["idempotency-key"] == "0b5d-1"


async def test_a_web_service_gets_the_message_as_an_object() -> None:
    async with site(says()) as at:
        await fires(Notification("webhook", url=at.url, headers={"X-Team": "a"}, **MESSAGE), at)
        request = at.requests[0]
        expected = {"id": "0b5d-1", "event": "failure", "title": "ns/run failed", "source": "ns/run"}
        assert json.loads(request.body).items() >= expected.items()
        assert request.headers["x-team"] == "a"


async def test_an_hour_of_429_loses_nothing_and_honours_retry_after() -> None:
    async with site(says(429, Retry_After="3600"), says(200)) as at:
        clock = PassingClock()
        waiting = Notification("slack", url=Revealed(at.url), **MESSAGE)
        assert (await fires(waiting, at, clock))["status"] == 200
        assert 3600 <= sum(clock.slept) <= 3600 * 1.1
        assert len(at.requests) == 2
        assert {request.headers["idempotency-key"] for request in at.requests} == {"0b5d-1"}


@pytest.mark.attack
async def test_a_flood_calls_a_receiver_with_429_once_for_each_pause() -> None:
    async with site(says(429, Retry_After="3600"), says(200)) as at:
        clock = PassingClock(limit=10_000)
        lent = services(web=at.client, clock=clock)
        waiting = [Notification("slack", url=Revealed(at.url), **MESSAGE | {"id": str(number)}) for number in range(50)]
        for each in waiting:
            each.bind(lent)
        await asyncio.gather(*(anext(aiter(each.run())) for each in waiting))
        delivered = [request.headers["idempotency-key"] for request in at.requests]
        assert set(delivered) == {str(number) for number in range(50)}
        assert len(delivered) <= 52


@pytest.mark.attack
async def test_a_receiver_on_a_denied_address_is_never_called() -> None:
    denying = OutboundNetwork(addresses=Addresses.build())
    async with site(says()) as at, connect(denying) as client:
        waiting = Notification("webhook", url=at.url, **MESSAGE)
        waiting.bind(services(web=client, clock=PassingClock()))
        with pytest.raises(AddressDeniedError):
            await anext(aiter(waiting.run()))
        assert at.requests == []


async def test_a_message_that_is_rejected_fails_without_the_url() -> None:
    async with site(says(404, "no_service")) as at:
        waiting = Notification("slack", url=Revealed(f"{at.url}/s3cret"), **MESSAGE)
        with pytest.raises(MessageRefusedError, match='slack answered 404: "no_service"') as refused:
            await fires(waiting, at)
        assert "s3cret" not in str(refused.value)


async def test_a_limit_that_teams_reports_with_200_is_tried_again() -> None:
    limited = says(200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429")
    async with site(limited, says(202)) as at:
        await fires(Notification("teams", url=Revealed(at.url), **MESSAGE), at)
        assert len(at.requests) == 2


class MailBox:
    """Keeps what it accepts; `codes` are the answers before it does."""

    def __init__(self, *codes: str) -> None:
        self.codes = list(codes)
        self.mails: list[tuple[Envelope, ReceivedMail]] = []
        self.port = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.codes:
            return self.codes.pop(0)
        self.mails.append((envelope, message_from_bytes(envelope.original_content or b"")))
        return "250 OK"


def login(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword) -> AuthResult:
    is_known = (data.login, data.password) == (b"torpor", b"s3cret")
    return AuthResult(success=is_known, handled=False)


@dataclass(frozen=True)
class ServerCertificate:
    """A certificate for localhost that signs itself, and its key, in one file."""

    path: Path

    def of_server(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.path)
        return context


@pytest.fixture
def certificate(tmp_path: Path) -> ServerCertificate:
    pair = create_key_pair("localhost", datetime.now(UTC))
    path = tmp_path / "server.pem"
    path.write_text(pair.certificate + pair.key)
    return ServerCertificate(path)


@asynccontextmanager
async def smtp_server(box: MailBox, context: ssl.SSLContext | None = None) -> AsyncIterator[MailBox]:
    """A real SMTP server on the loopback; with a context it requires STARTTLS and a login."""
    security: dict[str, Any] = {}
    if context is not None:
        security = {"require_starttls": True, "auth_required": True, "authenticator": login}
    loop = asyncio.get_running_loop()
    sessions: list[SMTP] = []

    def session() -> SMTP:
        sessions.append(SMTP(box, hostname="localhost", tls_context=context, loop=loop, **security))
        return sessions[-1]

    server = await loop.create_server(session, "127.0.0.1", 0)
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()
        for each in sessions:
            for transport in (each.transport, each._original_transport):
                if isinstance(transport, asyncio.WriteTransport):
                    transport.abort()
        await server.wait_closed()
        await asyncio.sleep(0)


def mail(box: MailBox, **fields: Any) -> Mail:
    written: dict[str, Any] = {"sender": "torpor@example.org", "to": ["a@example.org", "b@example.org"]}
    return Mail(
        "localhost", port=box.port, **written, **{"subject": "ns/run failed", "tls": "none", "id": "0b5d", **fields}
    )


async def sends(trigger: Mail, clock: PassingClock | None = None) -> Any:
    trigger.bind(services(clock=clock or PassingClock(limit=5)))
    return (await anext(aiter(trigger.run()))).payload


async def test_a_mail_arrives_whole() -> None:
    async with smtp_server(MailBox()) as box:
        assert await sends(mail(box, text="Fünf\nZeilen")) == {"id": "<0b5d@example.org>"}
        envelope, received = box.mails[0]
        assert envelope.rcpt_tos == ["a@example.org", "b@example.org"]
        assert (received["Subject"], received["Message-ID"]) == ("ns/run failed", "<0b5d@example.org>")
        assert "Fünf" in received.get_payload(decode=True).decode()  # type: ignore[union-attr]


async def test_a_mail_is_sent_again_until_the_server_accepts_it() -> None:
    async with smtp_server(MailBox("451 try again later", "452 full")) as box:
        await sends(mail(box))
        assert [received["Message-ID"] for _, received in box.mails] == ["<0b5d@example.org>"]


async def test_a_mail_that_is_rejected_fails() -> None:
    async with smtp_server(MailBox("554 no spam")) as box:
        with pytest.raises(MessageRefusedError, match="no spam"):
            await sends(mail(box))


async def test_a_login_is_sent_by_starttls_only(
    certificate: ServerCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = certificate.of_server()
    trusting = ssl.create_default_context(cafile=str(certificate.path))
    monkeypatch.setattr(smtp, "tls_context", lambda: trusting)
    async with smtp_server(MailBox(), context) as box:
        known = {"tls": "starttls", "user": Revealed("torpor"), "password": Revealed("s3cret")}
        await sends(mail(box, **known))
        assert len(box.mails) == 1
        with pytest.raises(MessageRefusedError) as refused:
            await sends(mail(box, **known | {"password": Revealed("wrong")}))
        assert "wrong" not in str(refused.value)


@pytest.mark.attack
async def test_a_server_with_an_unknown_certificate_gets_no_login(certificate: ServerCertificate) -> None:
    async with smtp_server(MailBox(), certificate.of_server()) as box:
        waiting = mail(box, tls="starttls", user=Revealed("torpor"), password=Revealed("s3cret"))
        with pytest.raises(NeverError):
            await sends(waiting, PassingClock(limit=2))
        assert "certificate" in waiting.last_look.lower()
        assert box.mails == []

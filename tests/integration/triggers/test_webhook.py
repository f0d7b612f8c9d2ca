"""`webhook` against a real server: what arrives, what is tried again, and what is not."""

import json
from typing import Any

import pytest
from torpor.triggers import Webhook
from torpor.triggers.support.arguments import Revealed
from torpor.triggers.webhook import WebhookRefusedError

from tests.integration.triggers.passing import NeverError, PassingClock
from tests.integration.triggers.site import HttpSite, says, site
from tests.support.fake_services import services


async def fires(trigger: Webhook, at: HttpSite, clock: PassingClock | None = None) -> Any:
    trigger.bind(services(web=at.client, clock=clock or PassingClock()))
    return (await anext(aiter(trigger.run()))).payload


async def test_a_call_arrives_whole_and_its_status_is_the_event() -> None:
    async with site(says(201, {"id": 7})) as at:
        waiting = Webhook(f"{at.url}/hook", body={"text": "Fünf", "n": 1.0}, headers={"X-Own": "1"}, method="PUT")
        assert await fires(waiting, at) == {"status": 201}
        request = at.requests[0]
        assert (request.method, request.path, request.headers["x-own"]) == ("PUT", "/hook", "1")
        assert request.headers["content-type"] == "application/json"
        assert request.body == '{"text":"Fünf","n":1.0}'


async def test_each_try_of_a_call_carries_the_same_key() -> None:
    async with site(says(500), says(429), says(408), says(503), says(204)) as at:
        assert await fires(Webhook(at.url, body=[]), at) == {"status": 204}
        keys = [request.headers["idempotency-key"] for request in at.requests]
        assert len(keys) == 5
        assert set(keys) == {keys[0]}
        assert keys[0].startswith("0b5d7c1a-1-0-")


async def test_a_key_of_the_authors_own_is_kept() -> None:
    async with site(says()) as at:
        await fires(Webhook(at.url, headers={"idempotency-key": "mine", "CONTENT-TYPE": "a/b"}, body=1), at)
        assert at.requests[0].headers["idempotency-key"] == "mine"
        assert at.requests[0].headers["content-type"] == "a/b"


async def test_without_a_body_none_is_sent() -> None:
    async with site(says()) as at:
        await fires(Webhook(at.url), at)
        assert at.requests[0].body == ""
        assert "application/json" not in at.requests[0].headers.get("content-type", "")


async def test_failed_requests_are_retried_with_backoff_or_after_retry_after() -> None:
    replies = [says(500), says(500), says(500), says(503, Retry_After="400"), says(200)]
    async with site(*replies) as at:
        clock = PassingClock()
        await fires(Webhook(at.url, interval=100), at, clock)
        for slept, due in zip(clock.slept, [100, 200, 300], strict=False):
            assert due * 0.9 <= slept <= due * 1.1
        assert 400 <= clock.slept[3] <= 440


async def test_a_service_that_is_not_there_is_called_until_it_is() -> None:
    async with site(says()) as at:
        waiting = Webhook("http://127.0.0.1:9/")
        with pytest.raises(NeverError):
            await fires(waiting, at, PassingClock(limit=3))
        assert waiting.last_look.startswith("no answer from http://127.0.0.1:9/: ")


@pytest.mark.parametrize("status", [300, 400, 401, 404, 410, 422])
async def test_a_refusal_fails_the_wait_with_what_was_said(status: int) -> None:
    async with site(says(status, {"error": "no\nsuch  channel"})) as at:
        with pytest.raises(WebhookRefusedError, match=f'answered {status}: {{"error": "no') as refused:
            await fires(Webhook(at.url), at)
        assert len(str(refused.value)) < 300
        assert len(at.requests) == 1


async def test_a_redirect_is_not_followed_and_says_where_to() -> None:
    async with site(says(307, Location="https://elsewhere.example/hook")) as at:
        with pytest.raises(WebhookRefusedError, match=r"it redirects to https://elsewhere\.example/hook"):
            await fires(Webhook(at.url), at)
        assert len(at.requests) == 1


async def test_the_value_of_a_secret_arrives_and_is_shown_nowhere() -> None:
    async with site(says(500), says()) as at:
        waiting = Webhook(
            Revealed(f"{at.url}/s3cret"),
            headers={"Authorization": Revealed("s3cret")},
            body={"token": Revealed("s3cret")},
        )
        await fires(waiting, at)
        request = at.requests[0]
        assert (request.path, request.headers["authorization"]) == ("/s3cret", "s3cret")
        assert json.loads(request.body) == {"token": "s3cret"}
        assert "s3cret" not in f"{waiting.last_look}{vars(waiting)}"

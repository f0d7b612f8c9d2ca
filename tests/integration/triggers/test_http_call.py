"""`http_call` against a real server: what arrives, what the event is, and how it fails."""

import json
from typing import Any

import pytest
from aiohttp import web
from torpor.triggers import HttpCall
from torpor.triggers.events import TaskSuccessEvent
from torpor.triggers.support.arguments import Revealed
from torpor.triggers.support.metering import (
    AddressDeniedError,
    AnswerTooLargeError,
    NoResponseError,
    ShareInUseError,
    UnexpectedResponseError,
)
from torpor_triggerer.network.sessions import Owner
from torpor_triggerer.services.http import connect

from tests.integration.triggers.passing import PassingClock
from tests.integration.triggers.site import HttpSite, ReceivedRequest, says, site
from tests.support.fake_services import services


async def yielded(trigger: HttpCall, at: HttpSite, clock: PassingClock | None = None) -> Any:
    trigger.bind(services(web=at.client, clock=clock or PassingClock()))
    return await anext(aiter(trigger.run()))


async def fires(trigger: HttpCall, at: HttpSite) -> Any:
    return (await yielded(trigger, at)).payload


def sends(size: int) -> Any:
    def reply(_: ReceivedRequest) -> web.Response:
        return web.Response(body=b"x" * size)

    return reply


async def test_a_request_arrives_whole_and_its_response_is_the_event() -> None:
    async with site(says(201, {"id": 7})) as at:
        call = HttpCall(f"{at.url}/jobs", json={"text": "Fünf"}, headers={"X-Own": "1"}, method="POST")
        event = await fires(call, at)
        assert (event["status"], event["json"]) == (201, {"id": 7})
        assert event["headers"]["content-type"].startswith("application/json")
        request = at.requests[0]
        assert (request.method, request.path, request.headers["x-own"]) == ("POST", "/jobs", "1")
        assert (request.headers["content-type"], request.body) == ("application/json", '{"text":"Fünf"}')
        assert request.headers["idempotency-key"] == "0b5d7c1a-1-0"


async def test_the_body_as_result_ends_the_task() -> None:
    async with site(says(200, {"id": 7})) as at:
        event = await yielded(HttpCall(at.url, as_result=True), at)
        assert isinstance(event, TaskSuccessEvent)
        assert event.payload == {"id": 7}


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_an_idempotent_method_has_no_key(method: str) -> None:
    async with site(says(204)) as at:
        await fires(HttpCall(at.url, method=method), at)
        assert "idempotency-key" not in at.requests[0].headers


async def test_headers_of_the_author_replace_those_of_torpor() -> None:
    async with site(says()) as at:
        own = {"idempotency-key": "mine", "CONTENT-TYPE": "a/b"}
        await fires(HttpCall(at.url, method="PATCH", headers=own, body="x"), at)
        headers = at.requests[0].headers
        assert (headers["idempotency-key"], headers["content-type"]) == ("mine", "a/b")


@pytest.mark.parametrize("status", [301, 400, 404, 500])
async def test_another_status_fails_with_the_status_and_the_body(status: int) -> None:
    async with site(says(status, {"error": "no\nsuch  job", "pad": "x" * 900})) as at:
        with pytest.raises(UnexpectedResponseError, match=f'answered {status}: {{"error": "no') as failed:
            await fires(HttpCall(at.url), at)
        assert (failed.value.status, failed.value.retry_after) == (status, 0.0)
        assert len(str(failed.value)) < 300
        assert len(at.requests) == 1


async def test_a_status_that_the_author_expects_is_a_success() -> None:
    async with site(says(404)) as at:
        assert (await fires(HttpCall(at.url, success=[200, "404-410"]), at))["status"] == 404


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_kept_up_to_an_hour(status: int) -> None:
    async with site(says(status, Retry_After="400"), says(status, Retry_After="999999")) as at:
        for seconds in (400.0, 3600.0):
            with pytest.raises(UnexpectedResponseError) as failed:
                await fires(HttpCall(at.url), at)
            assert failed.value.retry_after == seconds


async def test_a_server_that_is_not_there_fails_the_request() -> None:
    async with site(says()) as at:
        with pytest.raises(NoResponseError, match=r"GET http://127\.0\.0\.1:9/: no response: "):
            await fires(HttpCall("http://127.0.0.1:9/"), at)


@pytest.mark.attack
async def test_a_redirect_is_not_followed() -> None:
    async with site(says(302, Location="http://169.254.169.254/latest")) as at:
        with pytest.raises(UnexpectedResponseError, match=r"it redirects to http://169\.254\.169\.254/latest"):
            await fires(HttpCall(at.url), at)
        assert len(at.requests) == 1


@pytest.mark.attack
async def test_a_denied_address_is_not_called() -> None:
    async with connect() as client:
        at = HttpSite(client=client, replies=[says()])
        with pytest.raises(AddressDeniedError, match="does not connect to"):
            await fires(HttpCall("http://127.0.0.1:8080/"), at)


async def test_a_large_response_to_get_is_read_with_a_second_request() -> None:
    async with site(sends(100_000)) as at:
        assert await fires(HttpCall(at.url, as_result=True), at) == "x" * 100_000
        assert len(at.requests) == 2


@pytest.mark.attack
@pytest.mark.parametrize(("method", "size", "limit"), [("POST", 65_537, "64 KiB"), ("GET", 1_048_577, "1 MiB")])
async def test_a_response_above_the_limit_is_not_cut_in_half(method: str, size: int, limit: str) -> None:
    async with site(sends(size)) as at:
        with pytest.raises(AnswerTooLargeError, match=f"with more than {limit}, the limit for {method}"):
            await fires(HttpCall(at.url, method=method), at)


@pytest.mark.attack
async def test_the_value_of_a_secret_arrives_and_is_not_shown() -> None:
    async with site(says(500)) as at:
        call = HttpCall(
            Revealed(f"{at.url}/s3cret"),
            method="POST",
            headers={"Authorization": Revealed("s3cret")},
            json={"token": Revealed("s3cret")},
        )
        with pytest.raises(UnexpectedResponseError) as failed:
            await fires(call, at)
        request = at.requests[0]
        assert (request.path, request.headers["authorization"]) == ("/s3cret", "s3cret")
        assert json.loads(request.body) == {"token": "s3cret"}
        assert str(failed.value).startswith("POST the url answered 500")
        assert "s3cret" not in f"{call.last_look}{vars(call)}{failed.value}"


class BusyClient:
    """Refuses requests while the namespace has its share under way."""

    def __init__(self, at: HttpSite) -> None:
        self.at = at
        self.refusals = 3

    async def request(self, request: Any, owner: Owner) -> Any:
        if self.refusals:
            self.refusals -= 1
            raise ShareInUseError("128 requests of this namespace are under way")
        return await self.at.client.request(request, owner)


async def test_a_request_waits_while_the_namespace_has_its_share() -> None:
    async with site(says(200, 1)) as at:
        clock = PassingClock()
        call = HttpCall(at.url, as_result=True)
        call.bind(services(web=BusyClient(at), clock=clock))
        assert (await anext(aiter(call.run()))).payload == 1
        assert len(clock.slept) == 3
        assert len(at.requests) == 1

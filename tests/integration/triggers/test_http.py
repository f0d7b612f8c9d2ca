"""`http` against a real server: what it asks, when it asks again, and what it costs where nothing has changed."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from aiohttp import web
from torpor.triggers import Http
from torpor.triggers.support.arguments import Revealed
from torpor_kubernetes.timing import SystemClock
from torpor_triggerer.services.trigger_services import TriggerServices

from tests.integration.triggers.passing import PassingClock
from tests.integration.triggers.site import HttpSite, ReceivedRequest, Reply, says, site
from tests.support import fake_services, trigger_services

DONE = "response.json.state == 'done'"


async def fires(trigger: Http, at: HttpSite, clock: PassingClock | None = None) -> Any:
    """Its event, with all waits passing at once."""
    trigger.bind(fake_services.services(web=at.client, clock=clock or PassingClock()))
    async with aclosing(trigger.run()) as events:  # type: ignore[type-var]
        async for event in events:
            return event.payload
    raise AssertionError("it ended without an event")


def versions(*states: tuple[str, dict[str, str]]) -> Reply:
    """A server that tells its states apart by ETag or date, and says 304 for the one that the client has."""
    left = list(states)

    def reply(request: ReceivedRequest) -> web.Response:
        state, headers = left.pop(0) if len(left) > 1 else left[0]
        tag, date = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
        if (tag and tag == headers.get("ETag")) or (not tag and date and date == headers.get("Last-Modified")):
            return web.Response(status=304, headers=headers)
        return web.json_response({"state": state}, headers=headers)

    return reply


async def test_an_unchanged_answer_is_not_sent_again() -> None:
    busy, done = ("busy", {"ETag": '"1"'}), ("done", {"ETag": '"2"'})
    async with site(versions(busy, busy, busy, done)) as at:
        waiting = Http(at.url, body_condition=DONE)
        event = await fires(waiting, at)
        assert (event["json"], event["headers"]["etag"]) == ({"state": "done"}, '"2"')
        assert [request.headers.get("if-none-match") for request in at.requests] == [None, '"1"', '"1"', '"1"']


def dated(state: str, *, changed: int) -> tuple[str, dict[str, str]]:
    """An answer of a server that says when it changed, so many seconds before it answered."""
    now = datetime.now(UTC)
    moments = {"Date": now, "Last-Modified": now - timedelta(seconds=changed)}
    return state, {name: format_datetime(moment, usegmt=True) for name, moment in moments.items()}


async def test_a_server_without_etags_is_asked_by_date() -> None:
    busy, done = dated("busy", changed=60), dated("done", changed=5)
    async with site(versions(busy, busy, done)) as at:
        await fires(Http(at.url, body_condition=DONE), at)
        since = busy[1]["Last-Modified"]
        assert [request.headers.get("if-modified-since") for request in at.requests] == [None, since, since]


async def test_what_changed_within_the_second_of_the_answer_is_asked_for_whole() -> None:
    busy, done = dated("busy", changed=0), dated("done", changed=0)
    done[1].update(busy[1])
    async with site(versions(busy, done)) as at:
        assert (await fires(Http(at.url, body_condition=DONE), at))["json"] == {"state": "done"}


async def test_nothing_is_compared_where_the_author_asks_on_conditions_of_his_own() -> None:
    async with site(versions(("other", {"ETag": '"1"'}), ("as before", {"ETag": '"0"'}))) as at:
        event = await fires(Http(at.url, headers={"If-None-Match": '"0"'}, status=304), at)
        assert event["status"] == 304
        assert [request.headers["if-none-match"] for request in at.requests] == ['"0"', '"0"']


async def test_a_304_that_was_asked_for_is_an_answer() -> None:
    async with site(says(404), says(304)) as at:
        assert (await fires(Http(at.url, status=304), at))["status"] == 304


async def test_a_server_that_names_a_moment_is_not_asked_before() -> None:
    async with site(says(503, Retry_After="90"), says(429, Retry_After="120"), says()) as at:
        clock = PassingClock()
        await fires(Http(at.url, interval=1), at, clock)
        assert 90 <= clock.slept[0] <= 99
        assert 120 <= clock.slept[1] <= 132


async def test_a_failing_server_is_polled_less_often_until_it_recovers() -> None:
    replies = [*[says(500)] * 6, says(404), says()]
    async with site(*replies) as at:
        clock = PassingClock()
        await fires(Http(at.url, interval=1), at, clock)
        for slept, due in zip(clock.slept, [1, 2, 4, 8, 12, 12, 1], strict=True):
            assert due * 0.9 <= slept <= due * 1.1


async def test_a_header_comes_from_a_secret_and_is_shown_nowhere() -> None:
    async with site(says(401), says()) as at:
        waiting = Http(at.url, headers={"Authorization": Revealed("Bearer s3cret\n")})
        await fires(waiting, at)
        assert {request.headers["authorization"] for request in at.requests} == {"Bearer s3cret"}
        assert "s3cret" not in f"{waiting.last_look}{vars(waiting)}"


async def test_an_address_comes_from_a_secret_and_is_shown_nowhere() -> None:
    async with site(says(404), says()) as at:
        waiting = Http(Revealed(f"{at.url}/hooks/s3cret"))
        await fires(waiting, at)
        assert at.requests[0].path == "/hooks/s3cret"
        assert waiting.last_look == "the url answered 200"


@pytest.mark.parametrize("kwargs", [{"url": {"secretRef": {"name": "s", "key": "k"}}}])
async def test_a_secret_that_was_not_read_is_not_sent(kwargs: dict[str, Any]) -> None:
    async with site(says()) as at:
        with pytest.raises(ValueError, match="was not resolved"):
            await fires(Http(**kwargs), at)
        assert at.requests == []


async def test_many_waits_on_one_address_share_a_request_and_judge_separately() -> None:
    jobs = {str(number): "busy" for number in range(200)}
    tag = ["1"]

    def listing(request: ReceivedRequest) -> web.Response:
        if request.headers.get("if-none-match") == tag[0]:
            return web.Response(status=304)
        return web.json_response({"jobs": jobs}, headers={"ETag": tag[0]})

    async with site(listing) as at:
        services = fake_services.services(web=at.client, clock=SystemClock())
        waits = [
            Http(at.url, body_condition=f"response.json.jobs['{number}'] == 'done'", interval=0.3) for number in jobs
        ]
        odd = Http(at.url, body_condition="response.json.jobs['1']", interval=0.3)
        tasks = [asyncio.create_task(_first(item, services)) for item in [*waits, odd]]
        with pytest.raises(TypeError, match="yields a value of type str"):
            await tasks.pop()
        count = len(at.requests)
        assert count < 40
        await trigger_services.until(lambda: len(at.requests) >= count + 5)
        assert {request.headers.get("if-none-match") for request in at.requests[-4:]} == {"1"}
        assert all(wait.last_look.endswith("answered 200; body_condition is false") for wait in waits)
        jobs.update({"7": "done", "199": "done"})
        tag[0] = "2"
        await trigger_services.until(lambda: sum(task.done() for task in tasks) == 2)
        assert (await tasks[7])["headers"]["etag"] == (await tasks[199])["headers"]["etag"] == "2"
        assert len(at.requests) < 100
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_comes_later_judges_what_the_others_have_seen_already() -> None:
    async with site(versions(("done", {"ETag": '"1"'}))) as at:
        services = fake_services.services(web=at.client, clock=SystemClock())
        other = Http(at.url, body_condition="response.json.state == 'x'", interval=0.3)
        first = asyncio.create_task(_first(other, services))
        await trigger_services.until(lambda: len(at.requests) == 1)
        assert (await _first(Http(at.url, body_condition=DONE, interval=0.3), services))["json"] == {"state": "done"}
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def test_only_what_is_asked_in_the_same_way_is_asked_once() -> None:
    async with site(says(404)) as at:
        services = fake_services.services(web=at.client, clock=SystemClock())
        requests = [
            {},
            {"headers": {"A": "b"}},
            {"method": "HEAD"},
            {"method": "POST"},
            {"method": "POST"},
            {"timeout": 3},
        ]
        tasks = [asyncio.create_task(_first(Http(at.url, **request), services)) for request in requests]  # type: ignore[arg-type]
        await trigger_services.until(lambda: len(at.requests) == len(requests))
        assert len(services.backends.pollers) == len(requests)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _first(trigger: Http, services: TriggerServices) -> Any:
    trigger.bind(services)
    return await trigger_services.first(trigger)

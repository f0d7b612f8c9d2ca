"""HTTP on behalf of triggers, over the loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web as server
from torpor.triggers.services import HttpResponse, Request
from torpor_triggerer.network.sessions import Owner
from torpor_triggerer.services import http
from yarl import URL

from tests.support import trigger_services

OWNER = Owner("workflows", "torpor-task")


async def answered(request: server.Request) -> server.StreamResponse:
    match request.path:
        case "/moved":
            raise server.HTTPFound("/headers")
        case "/posted":
            raise server.HTTPSeeOther("/headers")
        case "/kept":
            raise server.HTTPTemporaryRedirect("/headers")
        case "/around":
            raise server.HTTPFound("/around")
        case "/elsewhere":
            raise server.HTTPFound(f"http://localhost:{request.url.port}/headers")
        case "/file":
            raise server.HTTPFound("file:///etc/passwd")
        case "/slow":
            await asyncio.sleep(5)
        case "/large":
            return server.Response(body=b"x" * (http.BODY_MAX + 1))
        case "/cookie":
            return server.Response(headers={"Set-Cookie": "a=b"})
        case _:
            pass
    headers = {k.lower(): v for k, v in request.headers.items()}
    return server.json_response({"method": request.method, "headers": headers, "body": await request.text()})


@asynccontextmanager
async def site() -> AsyncIterator[tuple[http.OutboundHttpClient, str]]:
    application = server.Application()
    application.router.add_route("*", "/{path:.*}", answered)
    scheduler = server.AppRunner(application, access_log=None, shutdown_timeout=0)
    await scheduler.setup()
    try:
        listening = server.TCPSite(scheduler, "127.0.0.1", 0)
        await listening.start()
        async with http.connect(trigger_services.network()) as client:
            yield client, f"http://127.0.0.1:{scheduler.addresses[0][1]}"
    finally:
        await scheduler.cleanup()


async def get(client: http.OutboundHttpClient, url: str, method: str = "GET") -> HttpResponse:
    return await client.request(Request(method, url, {"X-Own": "1"}, 1), OWNER)


async def test_redirects_carry_the_callers_headers_on_the_same_host_only() -> None:
    async with site() as (client, url):
        assert b'"x-own": "1"' in (await get(client, f"{url}/moved")).body
        assert b"x-own" not in (await get(client, f"{url}/elsewhere")).body


async def test_a_redirect_turns_post_into_get() -> None:
    async with site() as (client, url):
        assert b'"method": "POST"' in (await get(client, f"{url}/", "POST")).body
        assert b'"method": "GET"' in (await get(client, f"{url}/posted", "POST")).body


async def test_a_body_arrives_and_a_redirect_is_the_answer_for_who_does_not_follow() -> None:
    async with site() as (client, url):
        request = Request("POST", f"{url}/body", {"Content-Type": "text/plain"}, 1, body=b"hello", follow=False)
        assert b'"body": "hello"' in (await client.request(request, OWNER)).body
        assert (await client.request(request._replace(url=f"{url}/moved"), OWNER)).status == 302
        pinned = await client.request(request._replace(url=f"{url}/kept", follow=True), OWNER)
        assert (b'"method": "POST"' in pinned.body, b'"body": "hello"' in pinned.body) == (True, True)


@pytest.mark.parametrize(
    ("path", "words"), [("/around", "more than 5 redirects"), ("/file", "file:///etc/passwd"), ("/slow", "within 1 s")]
)
async def test_what_leads_nowhere_is_no_answer(path: str, words: str) -> None:
    async with site() as (client, url):
        with pytest.raises(OSError, match=words):
            await get(client, url + path)


async def test_a_body_is_read_up_to_its_limit() -> None:
    async with site() as (client, url):
        response = await get(client, f"{url}/large")
        assert (len(response.body), response.truncated) == (http.BODY_MAX, True)


async def test_no_wait_sees_the_cookies_of_another() -> None:
    async with site() as (client, url):
        await get(client, f"{url}/cookie")
        assert b"cookie" not in (await get(client, f"{url}/")).body


@pytest.mark.parametrize(
    ("at", "to", "followed"),
    [
        ("http://a/x", "https://b/", True),
        ("https://a/x", "/y", True),
        ("https://a/x", "http://a/", False),
        ("http://a/x", "ftp://a/", False),
    ],
)
def test_only_http_is_followed_and_https_never_left(at: str, to: str, followed: bool) -> None:
    moved = HttpResponse(302, {"location": to}, b"", False)
    if followed:
        assert http._redirect(URL(at), moved) == URL(at).join(URL(to))
    else:
        with pytest.raises(OSError, match="only https"):
            http._redirect(URL(at), moved)


@pytest.mark.parametrize(
    ("at", "to", "same"),
    [
        ("http://a/x", "http://a/y", True),
        ("http://a/x", "https://a/y", True),
        ("http://a/x", "http://a:8080/y", False),
        ("http://a:8080/x", "https://a/y", False),
        ("https://a/x", "https://b/x", False),
    ],
)
def test_headers_are_meant_for_one_origin_and_its_upgrade(at: str, to: str, *, same: bool) -> None:
    assert http._same_origin(URL(at), URL(to)) is same

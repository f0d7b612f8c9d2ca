"""kopf uses the credentials of Torpor's client, and reads responses by the bounded decoder."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import kopf
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from torpor_kubernetes.client.api import Api
from torpor_operator.controller import kopf_handlers, kopf_session

from tests.support.controller_harness import build_cache
from tests.support.fake_api import FakeApi, VirtualClock


@pytest.mark.parametrize(
    ("kubeconfig", "expected"), [("/some/kubeconfig", ["kubeconfig"]), ("", ["account", "kubeconfig"])]
)
async def test_kubeconfig_takes_precedence_over_the_service_account(
    monkeypatch: pytest.MonkeyPatch, kubeconfig: str, expected: list[str]
) -> None:
    sources: list[str] = []
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    monkeypatch.setattr(kopf, "login_with_kubeconfig", lambda **_: sources.append("kubeconfig"))
    monkeypatch.setattr(kopf, "login_with_service_account", lambda **_: sources.append("account"))
    clock = VirtualClock()
    cache = build_cache(Api(FakeApi(clock), clock))
    registry = kopf.OperatorRegistry()
    kopf_handlers.register(registry, cache, stop=_stop, report_unreadable=_report)
    login = next(handler.fn for handler in registry._activities.get_all_handlers() if handler.id.endswith("login"))
    await login()  # type: ignore[call-arg, misc]
    assert sources == expected


async def test_the_liveness_probe_shows_the_dropped_events() -> None:
    clock = VirtualClock()
    cache = build_cache(Api(FakeApi(clock), clock))
    registry = kopf.OperatorRegistry()
    kopf_handlers.register(registry, cache, stop=_stop, report_unreadable=_report, dropped_events=lambda: 7)
    probe = next(handler.fn for handler in registry._activities.get_all_handlers() if handler.id == "droppedEvents")
    assert await probe() == 7  # type: ignore[call-arg, misc]


def test_kopf_copies_no_object() -> None:
    storage = kopf_handlers.settings().persistence.diffbase_storage
    workflow = kopf.Body({"metadata": {"name": "run"}, "spec": {"tasks": [{"name": "a"}]}})
    assert storage.build(body=workflow) == {}
    assert storage.fetch(body=workflow) is None


async def _stop() -> None:
    return None


async def _report(body: Mapping[str, Any], cause: str) -> None:
    return None


DEEP = "[" * 1_100 + "]" * 1_100
OBJECT = '{"metadata": {"name": "NAME"}, "spec": SPEC}'


def body(name: str, spec: str) -> str:
    return OBJECT.replace("NAME", name).replace("SPEC", spec)


async def answered(request: web.Request) -> web.StreamResponse:
    if request.query.get("watch") != "true":
        items = ", ".join((body("a", DEEP), body("b", "1")))
        return web.Response(text=f'{{"items": [{items}]}}', content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for name, spec in (("a", DEEP), ("b", "1")):
        await response.write(f'{{"type": "ADDED", "object": {body(name, spec)}}}\n'.encode())
    return response


@pytest.fixture
async def session() -> AsyncIterator[kopf.AiohttpSession]:
    app = web.Application()
    app.router.add_get("/", answered)
    async with TestServer(app) as server:
        session = kopf_session.create(kopf.ConnectionInfo(server=str(server.make_url("/"))))
        async with session.aiohttp_session:
            yield session


def names(objects: list[Any]) -> list[str]:
    return [each["metadata"]["name"] for each in objects]


async def test_a_list_with_an_object_that_is_too_deep_is_read(session: kopf.AiohttpSession) -> None:
    async with session.aiohttp_session.get(session.server) as response:
        assert names((await response.json())["items"]) == ["a", "b"]


@pytest.mark.parametrize("events", [1, 2])
async def test_a_watch_is_read_by_lines_and_may_be_closed_after_any(session: kopf.AiohttpSession, events: int) -> None:
    seen = []
    async with session.aiohttp_session.get(session.server, params={"watch": "true"}) as response:
        async for line in response.content.iter_chunked(1024 * 1024):
            seen.append(json.loads(line)["object"])
            if len(seen) == events:
                break
    assert names(seen) == ["a", "b"][:events]

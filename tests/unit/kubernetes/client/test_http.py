"""The HTTP transport against a server on the loopback interface that misbehaves on purpose."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer
from torpor_kubernetes.client import decoding, endpoint, errors, http
from torpor_kubernetes.client.transport import JSON_PATCH


class EchoServer:
    """Answers with what it was asked, and streams what it was given."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.cut = False
        self.hang = asyncio.Event()
        self.watching = 0
        self.url = ""

    async def echo(self, request: web.Request) -> web.Response:
        body = await request.text()
        seen = {
            "method": request.method,
            "path": request.path_qs,
            "body": body,
            "type": request.headers.get("Content-Type"),
            "authorization": request.headers.get("Authorization"),
            "agent": request.headers.get("User-Agent"),
        }
        return web.json_response(seen, status=int(request.query.get("status", "200")), headers={"Retry-After": "3"})

    async def text(self, _: web.Request) -> web.Response:
        return web.Response(text="a log line\n")

    async def broken(self, _: web.Request) -> web.Response:
        return web.Response(text="{", content_type="application/json")

    async def hanging(self, _: web.Request) -> web.Response:
        await self.hang.wait()
        return web.Response()

    async def watch(self, request: web.Request) -> web.StreamResponse:
        if request.query["resourceVersion"] == "0":
            return web.json_response({"message": "too old", "reason": "Expired"}, status=410)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in self.chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if self.cut and request.transport:
            request.transport.abort()
        if request.query["resourceVersion"] == "hang":
            self.watching += 1
            await self.hang.wait()
        return response


@pytest.fixture
async def server() -> AsyncIterator[EchoServer]:
    answers = EchoServer()
    app = web.Application()
    app.router.add_route("GET", "/watch", answers.watch)
    app.router.add_route("GET", "/text", answers.text)
    app.router.add_route("GET", "/broken", answers.broken)
    app.router.add_route("GET", "/hanging", answers.hanging)
    app.router.add_route("*", "/echo{tail:.*}", answers.echo)
    async with TestServer(app) as running:
        answers.url = str(running.make_url("")).rstrip("/")
        yield answers
        answers.hang.set()


def kubeconfig(folder: Path, url: str, user: dict[str, object] | None = None) -> str:
    path = folder / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {"server": url}}],
                "users": [{"name": "u", "user": user or {"token": "secret"}}],
            }
        )
    )
    return str(path)


@pytest.fixture
async def transport(server: EchoServer, tmp_path: Path) -> AsyncIterator[http.HttpTransport]:
    async with http.connect(kubeconfig(tmp_path, server.url), program="torpor-test") as connected:
        yield connected


async def watched(transport: http.HttpTransport, version: str = "1", seconds: str = "5") -> list[object]:
    query = {"resourceVersion": version, "timeoutSeconds": seconds}
    async with aclosing(transport.stream("/watch", query=query)) as events:
        return [event async for event in events]


async def test_a_request_carries_method_path_body_token_and_name(transport: http.HttpTransport) -> None:
    response = await transport.request(
        "PATCH", "/echo/x", query={"fieldSelector": "a.b=c+d,e!=f"}, body=[{"op": "x"}], content_type=JSON_PATCH
    )
    assert response.status == 200
    assert response.retry_after == 3
    assert response.body["method"] == "PATCH"
    assert response.body["path"] in {"/echo/x?fieldSelector=a.b=c%2Bd,e!=f", "/echo/x?fieldSelector=a.b%3Dc%2Bd,e!%3Df"}
    assert json.loads(response.body["body"]) == [{"op": "x"}]
    assert response.body["type"] == JSON_PATCH
    assert response.body["authorization"] == "Bearer secret"
    assert response.body["agent"].startswith("torpor-test/")


async def test_an_error_status_is_an_answer_and_text_is_text(transport: http.HttpTransport) -> None:
    assert (await transport.request("GET", "/echo", query={"status": "503"})).status == 503
    assert (await transport.request("GET", "/text")).body == "a log line\n"


async def test_a_body_that_is_not_json_is_no_answer(transport: http.HttpTransport) -> None:
    with pytest.raises(errors.Unreachable, match="unreadable body"):
        await transport.request("GET", "/broken")


async def test_an_object_of_two_megabytes_passes_through_a_watch(
    transport: http.HttpTransport, server: EchoServer
) -> None:
    huge = json.dumps({"type": "ADDED", "object": {"text": "x" * 2_000_000}}).encode() + b"\n"
    small = b'{"type": "BOOKMARK", "object": {}}\n'
    both = huge + small + small
    server.chunks = [both[start : start + 40_000] for start in range(0, len(both), 40_000)]
    events = await watched(transport)
    assert events == [json.loads(huge), json.loads(small), json.loads(small)]


async def test_lines_are_found_however_they_are_cut() -> None:
    data = b'{"a":1}\n{"b":2}\n\n{"c":3}\n{"broken'
    for size in range(1, len(data) + 1):

        async def chunks(size: int = size) -> AsyncIterator[bytes]:
            for start in range(0, len(data), size):
                yield data[start : start + size]

        assert [line async for line in http.lines(chunks())] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_a_refused_watch_raises_what_the_status_means(transport: http.HttpTransport) -> None:
    with pytest.raises(errors.Gone, match="too old"):
        await watched(transport, "0")


async def test_a_watch_that_is_cut_off_says_so(transport: http.HttpTransport, server: EchoServer) -> None:
    server.chunks, server.cut = [b'{"type": "ADDED", "object": {}}\n'], True
    with pytest.raises(errors.Unreachable):
        await watched(transport)


async def test_a_watch_that_outlives_what_it_asked_for_is_ended(
    transport: http.HttpTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "WATCH_MARGIN_SECONDS", 0.1)
    async with asyncio.timeout(180):
        with pytest.raises(errors.Unreachable):
            await watched(transport, "hang", "0")


async def test_a_request_has_a_limit(transport: http.HttpTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.1)
    async with asyncio.timeout(180):
        with pytest.raises(errors.Unreachable, match="GET /hanging"):
            await transport.request("GET", "/hanging")


async def test_watches_do_not_use_up_the_connections_of_requests(server: EchoServer, tmp_path: Path) -> None:
    async with http.connect(kubeconfig(tmp_path, server.url), connections=1) as transport:
        watches = [asyncio.create_task(watched(transport, "hang")) for _ in range(5)]
        async with asyncio.timeout(180):
            while server.watching < 5:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
        assert (await transport.request("GET", "/echo")).status == 200
        assert server.watching == 5
        server.hang.set()
        await asyncio.gather(*watches)


async def test_a_refused_connection_names_the_address(tmp_path: Path) -> None:
    async with http.connect(kubeconfig(tmp_path, "http://127.0.0.1:1")) as transport:
        with pytest.raises(errors.Unreachable, match=r"GET /echo at http://127\.0\.0\.1:1"):
            await transport.request("GET", "/echo")


async def test_a_kubeconfig_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    for path, content in (("none", None), ("empty", ""), ("broken", "{"), ("other", "kind: Pod")):
        if content is not None:
            (tmp_path / path).write_text(content)
        with pytest.raises(errors.Unconfigured, match=path):
            async with http.connect(str(tmp_path / path)):
                pass


async def test_an_exec_plugin_gives_the_token(server: EchoServer, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    status = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t1"}}'
    plugin.write_text(f"#!/bin/sh\necho '{status}'\n")
    plugin.chmod(0o755)
    user: dict[str, object] = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    }
    async with http.connect(kubeconfig(tmp_path, server.url, user)) as transport:
        assert (await transport.request("GET", "/echo")).body["authorization"] == "Bearer t1"


async def test_in_a_pod_the_token_is_read_again_as_it_is_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("one\n")
    token = endpoint._TokenFile(tmp_path / "token")
    assert await token.authorization() == "Bearer one"
    (tmp_path / "token").write_text("two\n")
    assert await token.authorization() == "Bearer one"
    monkeypatch.setattr(endpoint, "TOKEN_SECONDS", 0.0)
    assert await token.authorization() == "Bearer two"


async def test_a_pod_without_a_service_account_gets_a_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(errors.Unconfigured, match="service account"):
        async with http.connect():
            pass


async def test_an_answer_that_is_too_long_is_not_read_to_its_end(
    transport: http.HttpTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "BODY_BYTES", 100)
    with pytest.raises(errors.TooLarge, match="more than 100 bytes"):
        await transport.request("GET", "/echo/x", query={"long": "x" * 200})


async def test_a_deep_object_in_a_watch_leaves_the_next_one_whole(
    server: EchoServer, transport: http.HttpTransport
) -> None:
    deep = "[" * 1_100 + "]" * 1_100
    names = '{"type": "ADDED", "object": {"metadata": {"name": "NAME"}, "spec": SPEC}}\n'
    server.chunks = [names.replace("NAME", "a").replace("SPEC", deep).encode()]
    server.chunks.append(names.replace("NAME", "b").replace("SPEC", "1").encode())
    first, second = await watched(transport)
    assert isinstance(first, dict)
    assert set(first["object"]) == {"metadata", decoding.UNREADABLE}
    assert second == {"type": "ADDED", "object": {"metadata": {"name": "b"}, "spec": 1}}

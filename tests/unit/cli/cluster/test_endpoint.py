"""The credentials of a kubeconfig in the asynchronous client, as `torpor ui` uses them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from torpor_cli.cluster.access import Access, Anonymous, Basic, ExecPlugin, Login, ServerEndpoint, Token, TokenFile
from torpor_cli.cluster.endpoint import endpoint_of
from torpor_kubernetes.client.http import open_transport


class StrictServer:
    """Accepts one token, and shows what it received."""

    def __init__(self) -> None:
        self.accepted = ""
        self.requests = 0
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.requests += 1
        given = request.headers.get("Authorization", "")
        if self.accepted and given != f"Bearer {self.accepted}":
            return web.json_response({"message": "Unauthorized"}, status=401)
        return web.json_response(
            {
                "authorization": given,
                "user": request.headers.get("Impersonate-User"),
                "groups": request.headers.getall("Impersonate-Group", []),
            }
        )


@pytest.fixture
async def server() -> AsyncIterator[StrictServer]:
    strict = StrictServer()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", strict.handle)
    async with TestServer(application) as running:
        strict.url = str(running.make_url("")).rstrip("/")
        yield strict


def access(server: StrictServer) -> Access:
    return Access(server=ServerEndpoint(url=server.url), login=Anonymous())


async def body(chosen: Access) -> dict[str, object]:
    async with open_transport(endpoint_of(chosen)) as transport:
        response = await transport.request("GET", "/version")
        assert response.status == 200
        return dict(response.body)


async def test_each_kind_of_login_sends_its_credentials(server: StrictServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    logins: dict[Login, str] = {
        Anonymous(): "",
        Token(token="t"): "Bearer t",
        TokenFile(path=tmp_path / "token"): "Bearer from-file",
        Basic(username="ann", password="x"): "Basic YW5uOng=",
    }
    for login, expected in logins.items():
        assert (await body(replace(access(server), login=login)))["authorization"] == expected


async def test_an_impersonation_is_in_every_request(server: StrictServer) -> None:
    received = await body(replace(access(server), as_user="bob", as_groups=("dev", "ops")))
    assert (received["user"], received["groups"]) == ("bob", ["dev", "ops"])


async def test_a_plugin_runs_again_when_its_token_is_rejected(server: StrictServer, tmp_path: Path) -> None:
    plugin, runs = tmp_path / "plugin", tmp_path / "runs"
    plugin.write_text(
        f'#!/bin/sh\necho x >> {runs}\necho "{{\\"status\\": {{\\"token\\": \\"t$(wc -l < {runs} | tr -d " ")\\"}}}}"\n'
    )
    plugin.chmod(0o755)
    login = ExecPlugin(command=str(plugin), interactive=False)
    async with open_transport(endpoint_of(replace(access(server), login=login))) as transport:
        server.accepted = "t2"
        assert (await transport.request("GET", "/version")).body["authorization"] == "Bearer t2"
        assert server.requests == 2
        server.accepted = "none"
        assert (await transport.request("GET", "/version")).status == 401


async def test_a_token_file_that_another_process_renews_is_read_again(server: StrictServer, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    async with open_transport(endpoint_of(replace(access(server), login=TokenFile(path=file)))) as transport:
        assert (await transport.request("GET", "/version")).body["authorization"] == "Bearer one"
        file.write_text("two")
        assert (await transport.request("GET", "/version")).body["authorization"] == "Bearer two"

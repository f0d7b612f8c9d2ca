"""A made OIDC provider on loopback: discovery, authorization by redirect, codes with PKCE, and refresh tokens.

It signs nothing, since the page leaves signatures to the API server. The made-up API server accepts the tokens that
`accept` adds as users.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

CLIENT = "torpor"


@dataclass(slots=True, kw_only=True)
class OidcServer:
    """What it issues. `claims` replaces claims of the next tokens; `lifetime` is in seconds.

    `slow`: a response arrives in two pieces, as a long one does.
    """

    accept: Callable[[str], object]
    url: str = ""
    lifetime: float = 3600.0
    claims: dict[str, Any] = field(default_factory=dict)
    away: bool = False
    slow: bool = False
    refuses_refresh: bool = False
    refreshes: int = 0
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)

    def application(self) -> web.Application:
        application = web.Application()
        application.add_routes(
            [
                web.get("/.well-known/openid-configuration", self._discovery),
                web.get("/authorize", self._authorize),
                web.post("/token", self._token),
            ]
        )
        return application

    async def _discovery(self, request: web.Request) -> web.StreamResponse:
        endpoints = {"authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token"}
        return await self._send(request, {"issuer": self.url, **endpoints})

    async def _authorize(self, request: web.Request) -> web.Response:
        code = secrets.token_urlsafe(8)
        self.codes[code] = dict(request.query)
        location = f"{request.query['redirect_uri']}?code={code}&state={request.query['state']}"
        return web.Response(status=302, headers={"Location": location})

    async def _token(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        if self.away:
            return web.Response(status=503)
        if form["grant_type"] == "refresh_token":
            self.refreshes += 1
            if self.refuses_refresh or form["refresh_token"] not in self.refresh_tokens:
                return web.json_response({"error": "invalid_grant"}, status=400)
            self.refresh_tokens.discard(str(form["refresh_token"]))
            return await self._send(request, self._issue({}))
        login = self.codes.pop(str(form["code"]), None)
        if login is None or not _matches(login["code_challenge"], str(form["code_verifier"])):
            return web.json_response({"error": "invalid_grant"}, status=400)
        return await self._send(request, self._issue({"nonce": login["nonce"]}))

    async def _send(self, request: web.Request, body: dict[str, str]) -> web.StreamResponse:
        if not self.slow:
            return web.json_response(body)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        content = json.dumps(body).encode()
        for piece in (content[:20], content[20:]):
            await response.write(piece)
            await asyncio.sleep(0.05)
        return response

    def _issue(self, more: dict[str, str]) -> dict[str, str]:
        claims = {"iss": self.url, "aud": CLIENT, "sub": "ann", "exp": time.time() + self.lifetime}
        claims |= {**more, "jti": secrets.token_urlsafe(4), **self.claims}
        token = ".".join((_part({"alg": "none"}), _part(claims), "signature"))
        self.accept(token)
        refresh = secrets.token_urlsafe(8)
        self.refresh_tokens.add(refresh)
        return {"id_token": token, "refresh_token": refresh, "token_type": "Bearer"}


@asynccontextmanager
async def serve_oidc(server: OidcServer) -> AsyncIterator[OidcServer]:
    """Serve on loopback for the block."""
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _matches(challenge: str, verifier: str) -> bool:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == challenge

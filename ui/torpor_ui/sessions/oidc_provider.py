"""The OIDC provider: its endpoints, the exchange of a code, and the renewal of tokens. All of it over TLS.

The id_token comes from the provider itself over TLS, and the API server verifies its signature at each request. Here
only its claims are compared: that it is for this client, this login, and not expired (OIDC Core 3.1.3.7).
"""

import asyncio
import base64
import binascii
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from torpor_ui import errors

_SECONDS = 10.0
_BODY_MAX = 2**20
_DISCOVERY_SECONDS = 3600.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcClient:
    """What the provider knows this page as. `secret` is empty for a public client."""

    issuer: str
    client_id: str
    secret: str = field(default="", repr=False)
    scopes: str = "openid email groups offline_access"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcTokens:
    """What the provider issued. `expires` is in seconds since the epoch."""

    id_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endpoints:
    authorization: str
    token: str


class OidcProvider:
    """Requests to the provider. Methods raise ProblemError. `now` returns seconds since the epoch."""

    def __init__(self, client: OidcClient, ssl_context: Any = None, now: Callable[[], float] = time.time) -> None:
        self.client = client
        self._ssl = ssl_context
        self._now = now
        self._endpoints: tuple[float, _Endpoints] | None = None
        self._lock = asyncio.Lock()

    async def authorization_endpoint(self) -> str:
        """Return where the browser goes to log in."""
        return (await self._discover()).authorization

    async def exchange(self, code: str, verifier: str, redirect: str, nonce: str) -> OidcTokens:
        """Return the tokens for the code of a login."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
        return self._tokens(await self._post(form), nonce=nonce)

    async def renew(self, refresh_token: str) -> OidcTokens | None:
        """Return new tokens; None if the provider does not renew them any more."""
        body = await self._post({"grant_type": "refresh_token", "refresh_token": refresh_token})
        if not body.get("id_token"):
            return None
        return self._tokens({"refresh_token": refresh_token, **body}, nonce=None)

    def _tokens(self, body: Mapping[str, Any], *, nonce: str | None) -> OidcTokens:
        token = str(body.get("id_token") or "")
        claims = _claims(token)
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        expires = claims.get("exp")
        valid = (
            claims.get("iss") == self.client.issuer
            and self.client.client_id in audiences
            and (len(audiences) == 1 or claims.get("azp") == self.client.client_id)
            and (nonce is None or claims.get("nonce") == nonce)
            and isinstance(expires, int | float)
            and expires > self._now()
        )
        if not valid:
            raise errors.not_logged_in("the token of the provider is not for this login")
        return OidcTokens(
            id_token=token, refresh_token=str(body.get("refresh_token") or ""), expires=float(expires or 0)
        )

    async def _discover(self) -> _Endpoints:
        async with self._lock:
            if self._endpoints is None or time.monotonic() >= self._endpoints[0]:
                body = await self._request("GET", f"{self.client.issuer.rstrip('/')}/.well-known/openid-configuration")
                if body.get("issuer") != self.client.issuer:
                    raise errors.unavailable("the provider says that it is another issuer", "Correct --oidc-issuer.")
                found = _Endpoints(
                    authorization=_checked(body.get("authorization_endpoint")),
                    token=_checked(body.get("token_endpoint")),
                )
                self._endpoints = (time.monotonic() + _DISCOVERY_SECONDS, found)
            return self._endpoints[1]

    async def _post(self, form: Mapping[str, str]) -> Mapping[str, Any]:
        endpoint = (await self._discover()).token
        client = self.client
        if client.secret:
            auth = aiohttp.BasicAuth(client.client_id, client.secret)
            return await self._request("POST", endpoint, data=form, auth=auth)
        return await self._request("POST", endpoint, data={**form, "client_id": client.client_id})

    async def _request(self, method: str, url: str, **options: Any) -> Mapping[str, Any]:
        try:
            async with (
                self._session() as session,
                session.request(
                    method, url, allow_redirects=False, headers={"Accept": "application/json"}, **options
                ) as response,
            ):
                content = await _read(response.content)
                status = response.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.unavailable(f"the login provider does not respond: {type(error).__name__}") from error
        body = _json(content)
        if status in {400, 401}:
            raise errors.not_logged_in(f"the login provider refused: {str(body.get('error') or status)[:60]}")
        if status != 200:  # noqa: PLR2004
            raise errors.unavailable(f"the login provider answered {status}")
        return body

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        connector = aiohttp.TCPConnector(ssl=self._ssl if self._ssl is not None else True)
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            yield session


async def _read(stream: aiohttp.StreamReader) -> bytes:
    """Return a body up to a bound. One `read` returns only what has arrived."""
    content = bytearray()
    async for piece in stream.iter_any():
        content += piece
        if len(content) > _BODY_MAX:
            raise errors.unavailable(f"the login provider sent more than {_BODY_MAX} bytes")
    return bytes(content)


def check_issuer(url: str) -> str:
    """Return the URL of an issuer. Raises ValueError unless it is https, or http on this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError(f"{url!r}: write https://host/path")
    return url


def _checked(url: object) -> str:
    try:
        return check_issuer(str(url))
    except ValueError as error:
        raise errors.unavailable(f"the login provider has no secure endpoint: {error}") from error


def _claims(token: str) -> Mapping[str, Any]:
    """Return the claims of a token, which are not verified."""
    parts = token.split(".")
    try:
        return _json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, ValueError, binascii.Error):
        return {}


def _json(content: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}

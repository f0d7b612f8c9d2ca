"""The login by OIDC: authorization code with PKCE, state and nonce; the id_token is the caller's token.

A login that began in this browser ends in this browser: state, nonce and verifier are in a sealed cookie. That cookie
is Lax, since the provider leads back by a navigation between sites; that of the session is Strict.
"""

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode
from weakref import WeakValueDictionary

from aiohttp import web

from torpor_ui import errors
from torpor_ui.cluster.caller import Credential
from torpor_ui.errors import ProblemError
from torpor_ui.sessions.oidc_provider import OidcProvider, OidcTokens
from torpor_ui.sessions.sealed_cookie import SealedCookie
from torpor_ui.sessions.session import Cookie, LoginMode, Session

RENEW_SECONDS = 60.0
"""A token is renewed so long before it expires."""
_KEPT_SECONDS = 900.0
"""Renewed tokens are kept for so long, for requests that still have the former cookie."""
_SESSIONS_MAX = 5000
_VIEW = re.compile(r"(?:[A-Za-z0-9_.~/?=&,:+-]|%[2-9A-F][0-9A-F]){0,1000}")


class OidcLogin:
    """Sessions with tokens of an OIDC provider. `url` is the address of the page, without a slash at its end."""

    mode: LoginMode = "oidc"

    def __init__(
        self,
        provider: OidcProvider,
        url: str,
        session_cookie: SealedCookie,
        login_cookie: SealedCookie,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._provider = provider
        self._url = url
        self._cookie = session_cookie
        self._login_cookie = login_cookie
        self._now = now
        self._renewed: dict[str, tuple[float, OidcTokens | None]] = {}
        """Tokens by session, with the time until they are kept; None for a session that has ended."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """A lock lives as long as a request of its session holds it or waits for it."""

    async def session(self, request: web.Request) -> Session | None:
        """Return the session of the cookie, with a renewed token if it expires soon."""
        content = self._cookie.read(request)
        if content is None:
            return None
        identifier, before = str(content.get("id")), _tokens_of(content)
        lock = self._locks.setdefault(identifier, asyncio.Lock())
        async with lock:
            tokens = await self._current(identifier, before)
        if tokens is None:
            return None
        cookies = () if tokens == before else self._cookie.write(_content(identifier, tokens))
        return Session(id=identifier, credential=Credential(token=tokens.id_token), cookies=cookies)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the login."""
        return [web.get("/oidc/login", self._begin), web.get("/oidc/callback", self._finish)]

    async def log_in(self, token: str) -> Session:  # noqa: ARG002 - the interface of all logins
        """Refuse a pasted token."""
        raise errors.invalid("log in with the provider", f"Open {self._url}/oidc/login.")

    def log_out(self, request: web.Request) -> tuple[Cookie, ...]:
        """End the session. This replica refuses a copy of its cookie; others accept one until its token expires."""
        content = self._cookie.read(request)
        if content is not None:
            self._remember(str(content.get("id")), None, float(self._cookie.seconds))
        return self._cookie.delete()

    async def _begin(self, request: web.Request) -> web.Response:
        """Lead the browser to the provider."""
        login = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(login["verifier"].encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._provider.client.client_id,
            "redirect_uri": self._redirect,
            "scope": self._provider.client.scopes,
            "state": login["state"],
            "nonce": login["nonce"],
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        endpoint = await self._provider.authorization_endpoint()
        separator = "&" if "?" in endpoint else "?"
        cookies = self._login_cookie.write({**login, "view": view_of(request.query.get("next", ""))})
        return _redirect(f"{endpoint}{separator}{urlencode(query)}", cookies)

    async def _finish(self, request: web.Request) -> web.Response:
        """Exchange the code, and lead the browser to the view that it wanted."""
        login = self._login_cookie.read(request)
        state = request.query.get("state", "").encode()
        if login is None or not hmac.compare_digest(state, str(login.get("state")).encode()):
            raise errors.not_logged_in("this login did not begin in this browser, or took too long")
        if "error" in request.query:
            raise errors.not_logged_in(f"the provider refused: {request.query['error'][:60]!r}")
        code = request.query.get("code", "")
        tokens = await self._provider.exchange(code, str(login["verifier"]), self._redirect, str(login["nonce"]))
        cookies = self._cookie.write(_content(secrets.token_urlsafe(16), tokens))
        view = view_of(str(login.get("view")))
        return _redirect(f"{self._url}/{view}", (*self._login_cookie.delete(), *cookies))

    @property
    def _redirect(self) -> str:
        return f"{self._url}/oidc/callback"

    async def _current(self, identifier: str, before: OidcTokens) -> OidcTokens | None:
        """Return valid tokens of a session; None if it has ended."""
        kept_until, known = self._renewed.get(identifier, (0.0, before))
        tokens = known if kept_until > self._now() else before
        if tokens is None or tokens.expires - self._now() > RENEW_SECONDS:
            return tokens
        renewed = await self._renew(tokens)
        if renewed is not tokens:
            self._remember(identifier, renewed, _KEPT_SECONDS)
        return renewed

    async def _renew(self, tokens: OidcTokens) -> OidcTokens | None:
        still_valid = tokens if tokens.expires > self._now() else None
        if not tokens.refresh_token:
            return still_valid
        try:
            return await self._provider.renew(tokens.refresh_token) or still_valid
        except ProblemError as error:
            if error.problem.status == web.HTTPUnauthorized.status_code:
                return still_valid
            if still_valid is None:
                raise
            return still_valid

    def _remember(self, identifier: str, tokens: OidcTokens | None, seconds: float) -> None:
        now = self._now()
        if len(self._renewed) >= _SESSIONS_MAX:
            self._renewed = {key: kept for key, kept in self._renewed.items() if kept[0] > now}
        if len(self._renewed) >= _SESSIONS_MAX:
            self._renewed.pop(next(iter(self._renewed)))
        self._renewed[identifier] = (now + seconds, tokens)


def view_of(wanted: str) -> str:
    """Return the path of a view below the page; empty for anything that could lead elsewhere."""
    view = wanted.lstrip("/")
    return quote(view, safe="/?=&%,:+~-._") if _VIEW.fullmatch(view) and ".." not in view else ""


def _redirect(location: str, cookies: tuple[Cookie, ...]) -> web.Response:
    response = web.Response(status=303, headers={"Location": location})
    for cookie in cookies:
        cookie.set_on(response)
    return response


def _content(identifier: str, tokens: OidcTokens) -> dict[str, Any]:
    return {"id": identifier, "it": tokens.id_token, "rt": tokens.refresh_token, "exp": tokens.expires}


def _tokens_of(content: Mapping[str, Any]) -> OidcTokens:
    return OidcTokens(
        id_token=str(content.get("it")), refresh_token=str(content.get("rt") or ""), expires=float(content["exp"])
    )

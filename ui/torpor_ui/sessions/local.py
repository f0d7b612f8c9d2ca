"""The login of `torpor ui`: a link with a token that works once, exchanged for a cookie."""

import hmac
import secrets
from collections.abc import Callable

from aiohttp import web

from torpor_ui import errors
from torpor_ui.cluster.caller import Credential
from torpor_ui.errors import ProblemError
from torpor_ui.sessions.session import Cookie, LoginMode, Session

_BYTES = 32
_USED_MAX = 20


class LocalLogin:
    """The sessions of the user who started the server. `announce` gets each new link for the terminal."""

    mode: LoginMode = "local"

    def __init__(self, origin: str, announce: Callable[[str], object]) -> None:
        self._origin = origin
        self._announce = announce
        self._cookie = f"torpor-ui-{origin.rpartition(':')[2]}"  # cookies do not tell ports apart
        self._sessions: set[str] = set()
        self._token = secrets.token_urlsafe(_BYTES)
        self._used: list[str] = []

    @property
    def link(self) -> str:
        """The link that starts a session once."""
        return f"{self._origin}/login?token={self._token}"

    async def session(self, request: web.Request) -> Session | None:
        """Return the session of the cookie."""
        given = request.cookies.get(self._cookie, "")
        known = next((each for each in self._sessions if hmac.compare_digest(each.encode(), given.encode())), None)
        return None if known is None else Session(id=known, credential=Credential())

    def routes(self) -> list[web.RouteDef]:
        """Return the route of the link."""
        return [web.get("/login", self._exchange)]

    async def log_in(self, token: str) -> Session:  # noqa: ARG002 - the interface of all logins
        """Refuse a pasted token."""
        raise errors.invalid("`torpor ui` uses the credentials of your kubeconfig")

    def log_out(self, request: web.Request) -> tuple[Cookie, ...]:
        """End the session, and announce a link for another one."""
        self._sessions.discard(request.cookies.get(self._cookie, ""))
        self._announce(self.link)
        return (self._as_cookie(""),)

    async def _exchange(self, request: web.Request) -> web.Response:
        purpose = request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", "")
        if "prefetch" in purpose:
            raise errors.refused("Prefetch", "the link works once and is not fetched ahead")
        given = request.query.get("token", "").encode()
        response = web.Response(status=303, headers={"Location": "./"})
        if not hmac.compare_digest(given, self._token.encode()):
            if await self.session(request) is None:
                raise self._refusal(given)
            return response
        self._used = [*self._used[1 - _USED_MAX :], self._token]
        self._token = secrets.token_urlsafe(_BYTES)
        session = secrets.token_urlsafe(_BYTES)
        self._sessions.add(session)
        self._as_cookie(session).set_on(response)
        return response

    def _refusal(self, given: bytes) -> ProblemError:
        """Announce another link to who has a used one; a made-up one changes nothing."""
        if any(hmac.compare_digest(given, used.encode()) for used in self._used):
            self._announce(self.link)
            return errors.refused("LinkUsed", "this link has been used", "Open the new link in your terminal.")
        return errors.refused("WrongLink", "this is not the link of `torpor ui`", "Open the link in your terminal.")

    def _as_cookie(self, value: str) -> Cookie:
        return Cookie(name=self._cookie, value=value, secure=False)

"""The login with a token that a person pastes, such as that of a ServiceAccount."""

import secrets

from aiohttp import web

from torpor_ui import errors
from torpor_ui.cluster.caller import Credential
from torpor_ui.sessions.sealed_cookie import SealedCookie
from torpor_ui.sessions.session import Cookie, LoginMode, Session


class PastedTokenLogin:
    """Sessions with pasted tokens. The API server decides at each request whether the token is still valid."""

    mode: LoginMode = "token"

    def __init__(self, cookie: SealedCookie) -> None:
        self._cookie = cookie

    async def session(self, request: web.Request) -> Session | None:
        """Return the session of the cookie."""
        content = self._cookie.read(request)
        if content is None:
            return None
        return Session(id=str(content.get("id")), credential=Credential(token=str(content.get("token"))))

    def routes(self) -> list[web.RouteDef]:
        """Return no routes: the page sends the token to `api/session`."""
        return []

    async def log_in(self, token: str) -> Session:
        """Start a session with a token. The caller then asks the API server whether it is valid."""
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise errors.invalid("this is not a token", "Paste a token of a ServiceAccount: kubectl create token NAME.")
        content = {"id": secrets.token_urlsafe(16), "token": token}
        return Session(id=content["id"], credential=Credential(token=token), cookies=self._cookie.write(content))

    def log_out(self, request: web.Request) -> tuple[Cookie, ...]:  # noqa: ARG002 - the interface of all logins
        """End the session."""
        return self._cookie.delete()

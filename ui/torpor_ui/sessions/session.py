"""A session: whose credentials a request has. And the interface of the ways to log in."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from aiohttp import web

from torpor_ui.cluster.caller import Credential

LoginMode: TypeAlias = Literal["local", "proxy", "oidc", "token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Whose credentials a request has. `id` binds the CSRF token. `cookies` are to be set in the response."""

    id: str
    credential: Credential
    cookies: "tuple[Cookie, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cookie:
    """A cookie to set; one without a value is deleted."""

    name: str
    value: str = field(default="", repr=False)
    max_age: int | None = None
    path: str = "/"
    secure: bool = True
    same_site: str = "Strict"

    def set_on(self, response: web.StreamResponse) -> None:
        """Set the cookie on a response. Scripts cannot read it."""
        if not self.value:
            response.del_cookie(self.name, path=self.path)
            return
        response.set_cookie(
            self.name,
            self.value,
            max_age=self.max_age,
            path=self.path,
            secure=self.secure,
            httponly=True,
            samesite=self.same_site,
        )


class Login(Protocol):
    """A way to log in."""

    mode: LoginMode

    async def session(self, request: web.Request) -> Session | None:
        """Return the session of a request; None if the caller must log in. Raises ProblemError."""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the login, below the base path. They need no session."""

    async def log_in(self, token: str) -> Session:
        """Start a session with a token that a person has pasted. Raises ProblemError where that is not the way."""

    def log_out(self, request: web.Request) -> tuple[Cookie, ...]:
        """End the session of a request, and return the cookies to delete."""

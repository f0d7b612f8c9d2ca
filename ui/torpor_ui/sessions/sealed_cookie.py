"""A session that the browser keeps: sealed, so that only this server can read or make it.

It has as many cookies as it needs. An id_token with many groups and a refresh token do not fit into one cookie of 4 kB.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from torpor_ui import errors
from torpor_ui.sessions.secret import ServerSecret
from torpor_ui.sessions.session import Cookie

PIECE = 3600
PIECES_MAX = 5
_KIND = "cookie"
"""The member that says for which cookie the content was sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCookie:
    """The cookies of one kind. `path` has no slash at its end. `seconds` is their longest age."""

    secret: ServerSecret
    name: str
    path: str
    secure: bool
    seconds: int
    same_site: str = "Strict"

    def read(self, request: web.Request) -> dict[str, Any] | None:
        """Return the content of the cookies of a request; None for none, old ones, or made-up ones."""
        pieces = [request.cookies.get(name, "") for name in self._names()]
        sealed = "".join(pieces[: pieces.index("")] if "" in pieces else pieces)
        content = self.secret.open(sealed, seconds=self.seconds) if sealed else None
        return content if content is not None and content.get(_KIND) == self.name else None

    def write(self, content: Mapping[str, Any]) -> tuple[Cookie, ...]:
        """Return the cookies for some content, and the deletion of those that it does not need."""
        sealed = self.secret.seal({**content, _KIND: self.name})
        pieces = [sealed[start : start + PIECE] for start in range(0, len(sealed), PIECE)]
        if len(pieces) > PIECES_MAX:
            raise errors.too_large("the token is too long for a session", "Ask your administrator for fewer groups.")
        padded = pieces + [""] * (PIECES_MAX - len(pieces))
        return tuple(self._cookie(name, piece) for name, piece in zip(self._names(), padded, strict=True))

    def delete(self) -> tuple[Cookie, ...]:
        """Return the deletion of the cookies."""
        return tuple(self._cookie(name, "") for name in self._names())

    def _names(self) -> list[str]:
        return [self.name, *(f"{self.name}-{number}" for number in range(1, PIECES_MAX))]

    def _cookie(self, name: str, value: str) -> Cookie:
        return Cookie(
            name=name,
            value=value,
            max_age=self.seconds if value else None,
            path=self.path or "/",
            secure=self.secure,
            same_site=self.same_site,
        )

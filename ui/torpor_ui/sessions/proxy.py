"""The login by an authenticating proxy in front of the page, such as oauth2-proxy: it adds the token of the user.

The header counts only from the addresses of the proxy. From any other address somebody could write what they like
there; they would gain nothing, for a token is not a name, but a page behind a proxy is reached through it only.
"""

import secrets
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address

from aiohttp import web

from torpor_ui import errors
from torpor_ui.cluster.caller import Credential
from torpor_ui.sessions.session import Cookie, LoginMode, Session

_ID_BYTES = 16


class ProxyLogin:
    """Sessions with the token in a header of the proxy. `cookie` binds the CSRF token to a browser."""

    mode: LoginMode = "proxy"

    def __init__(self, networks: Sequence[IPv4Network | IPv6Network], header: str, cookie: Cookie) -> None:
        self._networks = networks
        self._header = header
        self._cookie = cookie

    async def session(self, request: web.Request) -> Session | None:
        """Return the session of the header. Raises ProblemError for a request that did not pass the proxy."""
        if not self._is_proxy(request.remote or ""):
            raise errors.refused("NotThroughProxy", "this request did not come through the proxy of the page")
        if len(request.headers.getall(self._header, [])) > 1:
            raise errors.refused("NotThroughProxy", f"the proxy must replace the header {self._header}")
        token = request.headers.get(self._header, "").removeprefix("Bearer ").strip()
        if not token:
            return None
        known = request.cookies.get(self._cookie.name, "")
        identifier = known or secrets.token_urlsafe(_ID_BYTES)
        cookies = () if known else (self._with(identifier),)
        return Session(id=identifier, credential=Credential(token=token), cookies=cookies)

    def routes(self) -> list[web.RouteDef]:
        """Return no routes: the proxy logs in."""
        return []

    async def log_in(self, token: str) -> Session:  # noqa: ARG002 - the interface of all logins
        """Refuse a pasted token."""
        raise errors.invalid("the proxy in front of this page logs you in")

    def log_out(self, request: web.Request) -> tuple[Cookie, ...]:  # noqa: ARG002
        """Forget the browser. The session of the proxy goes on until it is ended there."""
        return (self._with(""),)

    def _is_proxy(self, address: str) -> bool:
        try:
            client = ip_address(address)
        except ValueError:
            return False
        mapped = getattr(client, "ipv4_mapped", None) or client
        return any(mapped in network for network in self._networks)

    def _with(self, value: str) -> Cookie:
        cookie = self._cookie
        return Cookie(name=cookie.name, value=value, path=cookie.path, secure=cookie.secure)

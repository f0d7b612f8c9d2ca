"""`api/session`: who looks at the page, and what the page is."""

from aiohttp import web

from torpor_ui.cluster import namespaces
from torpor_ui.cluster.caller import Caller
from torpor_ui.http.context import CALLER, SESSION, json_body, json_response
from torpor_ui.routes.services import Services

_TOKEN_MAX = 16 * 1024


class SessionRoutes:
    """The endpoints of the session."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._guard = services.guard

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get("/api/session", self.show),
            web.post("/api/session", self.log_in),
            web.delete("/api/session", self.log_out),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Return who looks at the page; without a session that a login is needed."""
        caller = request.get(CALLER)
        shown = {
            "user": caller.user if caller else "",
            "mode": self._guard.login.mode,
            "login": caller is not None,
            "readOnly": self._guard.read_only,
            "version": self._services.version,
            "csrf": self._guard.csrf(request.get(SESSION)),
            "command": "torpor",
            "archive": True,
        }
        known = await self._namespaces(caller) if caller else {"namespaces": [], "defaultNamespaces": []}
        return json_response(shown | known)

    async def log_in(self, request: web.Request) -> web.Response:
        """Start a session with a pasted token. The API server decides whether it is valid."""
        body = await json_body(request)
        token = str(body.get("token") or "").strip()[:_TOKEN_MAX]
        session = await self._guard.login.log_in(token)
        caller = await self._services.callers.get(session.credential)
        response = json_response({"user": caller.user, "login": True, "csrf": self._guard.csrf(session)})
        for cookie in session.cookies:
            cookie.set_on(response)
        return response

    async def log_out(self, request: web.Request) -> web.Response:
        """End the session. Other sessions with the same credentials go on."""
        response = json_response({"login": False})
        for cookie in self._guard.login.log_out(request):
            cookie.set_on(response)
        return response

    async def _namespaces(self, caller: Caller) -> dict[str, list[str]]:
        configured = self._services.namespaces
        known = await namespaces.listed(caller.api, configured)
        chosen = [name for name in configured if name in known] or list(configured)
        return {"namespaces": known, "defaultNamespaces": chosen}

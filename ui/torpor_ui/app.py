"""Builds the web application from its parts."""

from importlib.metadata import PackageNotFoundError, version

from aiohttp import web
from torpor_kubernetes.timing import SystemClock
from torpor_wire.constants import SYSTEM_NAMESPACE

from torpor_ui.acts.rights import Rights
from torpor_ui.cluster.caller import Callers
from torpor_ui.cluster.transport import CallerTransport
from torpor_ui.feeds.registry import FeedRegistry
from torpor_ui.http.middleware import RequestGuard, add_headers
from torpor_ui.http.security import Origins
from torpor_ui.http.static_files import StaticFiles
from torpor_ui.routes.act_routes import ActRoutes
from torpor_ui.routes.log_routes import LogRoutes
from torpor_ui.routes.overview_routes import OverviewRoutes
from torpor_ui.routes.run_list_routes import RunListRoutes
from torpor_ui.routes.run_routes import RunRoutes
from torpor_ui.routes.schedule_routes import ScheduleRoutes
from torpor_ui.routes.services import Services
from torpor_ui.routes.session_routes import SessionRoutes
from torpor_ui.routes.task_routes import TaskRoutes
from torpor_ui.sessions.secret import ServerSecret
from torpor_ui.sessions.session import Login

ROUTES = (
    SessionRoutes,
    RunListRoutes,
    RunRoutes,
    LogRoutes,
    TaskRoutes,
    ActRoutes,
    ScheduleRoutes,
    OverviewRoutes,
)
"""The endpoints. Each class takes the services."""


def build(  # noqa: PLR0913 - what differs between `torpor ui`, a cluster and a test
    transport: CallerTransport,
    login: Login,
    origins: Origins,
    *,
    secret: ServerSecret | None = None,
    base: str = "",
    read_only: bool = False,
    namespaces: tuple[str, ...] = (),
    system: str = SYSTEM_NAMESPACE,
) -> web.Application:
    """Return the application. `transport` carries the credentials of `torpor ui`, or none.

    `system` is the namespace of the installation.
    """
    feeds = FeedRegistry()
    callers = Callers(transport, SystemClock(), system=system, on_drop=feeds.drop)
    guard = RequestGuard(
        login=login,
        callers=callers,
        secret=secret or ServerSecret(),
        origins=origins,
        base=base,
        read_only=read_only,
    )
    services = Services(
        guard=guard,
        callers=callers,
        feeds=feeds,
        rights=Rights(read_only=read_only),
        namespaces=namespaces,
        system=system,
        version=_version(),
    )
    application = web.Application(middlewares=[guard.middleware()])
    application.on_response_prepare.append(add_headers)
    routes = [*login.routes(), *(route for each in ROUTES for route in each(services).routes())]
    routes += StaticFiles(base).routes()
    application.add_routes([replace_path(route, base) for route in routes])

    async def end_feeds(_application: web.Application) -> None:
        feeds.close()

    application.on_shutdown.append(end_feeds)  # before the server waits for the streams
    return application


def _version() -> str:
    """The version of the page, or of the command torpor, whose wheel contains it."""
    try:
        return version("torpor-ui")
    except PackageNotFoundError:
        return version("kubectl-torpor")


def replace_path(route: web.RouteDef, base: str) -> web.RouteDef:
    """Return a route below the base path."""
    return web.RouteDef(route.method, base + route.path, route.handler, route.kwargs)

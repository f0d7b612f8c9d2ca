"""The page of `torpor ui` in front of a cluster, for a real browser to log in to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_kubernetes.client.endpoint import ClusterEndpoint
from torpor_ui.sessions.local import LocalLogin

from tests.support.page_server.browser import served_page


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPage:
    """A running server of the page. `login.link` starts a session once; there is a new one after each."""

    origin: str
    login: LocalLogin


@asynccontextmanager
async def serve_page(
    cluster: ClusterEndpoint, *, namespaces: tuple[str, ...], read_only: bool = False
) -> AsyncIterator[ServedPage]:
    """Serve the page for the block."""
    logins: list[LocalLogin] = []

    def make(origin: str) -> LocalLogin:
        logins.append(LocalLogin(origin, lambda _: None))
        return logins[0]

    async with served_page(cluster, make, namespaces=namespaces, read_only=read_only) as client:
        yield ServedPage(origin=client.url, login=logins[0])

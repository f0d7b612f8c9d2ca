"""The namespaces that an overview covers: those of the query, or all, or else those that are configured."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from torpor_ui.cluster import namespaces
from torpor_ui.http.context import caller_of
from torpor_ui.presentation import run_filters
from torpor_ui.routes.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What to read. None: all namespaces. `notes`: what the overview does not cover."""

    namespaces: Sequence[str | None]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name for caches."""
        return ",".join(namespace or "*" for namespace in self.namespaces)


async def scope_of(request: web.Request, services: Services) -> Scope:
    """Return the scope of a request."""
    named = run_filters.namespaces(request.query.get("ns", ""))
    if named:
        return Scope(namespaces=named)
    if await namespaces.may_list_runs(caller_of(request).api, None):
        return Scope(namespaces=(None,))
    note = f"you may not list all namespaces; these are {', '.join(services.namespaces) or 'none'}"
    return Scope(namespaces=services.namespaces, notes=(note,))

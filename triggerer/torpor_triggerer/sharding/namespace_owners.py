"""Finds out which namespaces another installation serves, so that each wait runs in one installation (ADR 0067)."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Never

from torpor_kubernetes.client import errors, installation_lease, lease
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.lease import ObservedLease
from torpor_kubernetes.client.resources import LEASES

_LOG = logging.getLogger(__name__)


class NamespaceOwners:
    """`home` is the triggerer's own namespace, `namespaces` are those that it is confined to; none: it serves all."""

    def __init__(self, api: Api, *, home: str, namespaces: Sequence[str]) -> None:
        self._api = api
        self._home = home
        self._namespaces = namespaces
        self._observed: Mapping[str, ObservedLease] = {}
        self._others: Mapping[str, str] = {}

    def serves(self, namespace: str) -> bool:
        """Return whether no other installation serves the namespace."""
        return namespace not in self._others

    async def run(self, on_change: Callable[[Collection[str]], None]) -> Never:
        """Read the Leases forever. `on_change` gets the namespaces that changed hands."""
        while True:
            if changed := await self.refresh():
                on_change(changed)
            await self._api.clock.sleep(installation_lease.INTERVAL)

    async def refresh(self) -> Collection[str]:
        """Do one round, and return the namespaces that changed hands. What cannot be read stays as it was."""
        try:
            leases = await self._read()
        except errors.ApiError as error:
            _LOG.warning("cannot read which namespaces other installations serve: %s", error.message)
            return ()
        now, before = self._api.clock.monotonic(), self._others
        self._observed = {name: lease.observe(self._observed.get(name), read, now) for name, read in leases.items()}
        holders = {
            name: installation_lease.other_holder(observed, self._home, now)
            for name, observed in self._observed.items()
        }
        self._others = {name: holder for name, holder in holders.items() if holder}
        for name in self._others.keys() - before.keys():
            _LOG.warning(
                "the installation in namespace %s serves namespace %s: its waits stop here", holders[name], name
            )
        return before.keys() ^ self._others.keys()

    async def _read(self) -> Mapping[str, lease.Lease]:
        pages = [
            await self._api.list(LEASES, namespace=namespace, field_selector=installation_lease.SELECTOR)
            for namespace in self._namespaces or (None,)
        ]
        return {raw["metadata"]["namespace"]: lease.parse(raw) for page in pages for raw in page.items}

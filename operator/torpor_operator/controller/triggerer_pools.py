"""Finds out which triggerer pools are running, and the public key with which values are sealed to each.

Read every few seconds from the Leases and ConfigMaps that triggerers keep beside the operator. Pods use it when they
start: a sensor pokes in its pod if no triggerer runs. So an outdated answer does no harm, and every pool counts as
running before the first read.
"""

import logging
from collections.abc import Mapping
from typing import Never

from torpor_kubernetes.client import errors, lease
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.lease import ObservedLease
from torpor_kubernetes.client.resources import CONFIG_MAPS, LEASES
from torpor_wire import constants

from torpor_operator.model.snapshot import TriggerPool

_LOG = logging.getLogger(__name__)
_INTERVAL = 5.0


class TriggererPools:
    """The triggerer pools of a namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._leases: dict[str, ObservedLease] = {}
        self._seal_keys: Mapping[str, str] = {}
        self._read = False

    def get(self, name: str) -> TriggerPool:
        """The present state of a pool."""
        seal_key = self._seal_keys.get(name, "")
        if not self._read:
            return TriggerPool(seal_key=seal_key)
        alive = lease.live(self._leases, self._api.clock.monotonic())
        served = any(observed.labels.get(constants.LABEL_POOL) == name for observed in alive)
        return TriggerPool(served=served, seal_key=seal_key)

    async def run(self) -> Never:
        """Read the pools, forever."""
        while True:
            try:
                await self._refresh()
            except errors.ApiError as error:
                _LOG.warning("cannot read the Leases of the triggerers: %s", error.message)
            await self._api.clock.sleep(_INTERVAL)

    async def _refresh(self) -> None:
        now = self._api.clock.monotonic()
        leases = (await self._api.list(LEASES, self._namespace, label_selector=constants.LABEL_POOL)).items
        parsed = [lease.parse(raw) for raw in leases]
        self._leases = {read.name: lease.observe(self._leases.get(read.name), read, now) for read in parsed}
        self._read = True
        maps = (await self._api.list(CONFIG_MAPS, self._namespace, label_selector=constants.LABEL_POOL)).items
        self._seal_keys = {
            keys["metadata"]["labels"][constants.LABEL_POOL]: str(keys.get("data", {}).get(constants.SEAL_DATA, ""))
            for keys in maps
        }

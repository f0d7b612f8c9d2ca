"""Which pools of triggerers there are: whether anybody serves one, and the key with which values are sealed to it.

Read every few seconds from the Leases and ConfigMaps that triggerers keep beside the operator. It is advice for pods
that are about to start (a sensor pokes by itself where nobody would wake it), so an old answer does no harm, and
before the first answer every pool counts as served.
"""

import logging
from collections.abc import Mapping
from typing import Never

from torpor_api.client import errors, lease
from torpor_api.client.api import Api
from torpor_api.client.lease import Sighting
from torpor_api.client.resources import CONFIG_MAPS, LEASES
from torpor_wire import constants

from torpor_operator.model.snapshot import Pool

_LOG = logging.getLogger(__name__)
_EVERY = 5.0


class Pools:
    """The pools of a namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._sightings: dict[str, Sighting] = {}
        self._keys: Mapping[str, str] = {}
        self._known = False

    def of(self, name: str) -> Pool:
        """What is known of a pool now."""
        if not self._known:
            return Pool(seal_key=self._keys.get(name, ""))
        alive = lease.live(self._sightings, self._api.clock.monotonic())
        served = any(one.labels.get(constants.LABEL_POOL) == name for one in alive)
        return Pool(served=served, seal_key=self._keys.get(name, ""))

    async def run(self) -> Never:
        """Look, for ever."""
        while True:
            try:
                await self._look()
            except errors.ApiError as error:
                _LOG.warning("cannot see which pools are served: %s", error.message)
            await self._api.clock.sleep(_EVERY)

    async def _look(self) -> None:
        now = self._api.clock.monotonic()
        leases = (await self._api.list(LEASES, self._namespace, label_selector=constants.LABEL_POOL)).items
        found = [lease.parse(raw) for raw in leases]
        self._sightings = {one.name: lease.sight(self._sightings.get(one.name), one, now) for one in found}
        self._known = True
        maps = (await self._api.list(CONFIG_MAPS, self._namespace, label_selector=constants.LABEL_POOL)).items
        self._keys = {
            one["metadata"]["labels"][constants.LABEL_POOL]: str(one.get("data", {}).get(constants.SEAL_DATA, ""))
            for one in maps
        }

"""The live replicas of the pool: one Lease each, renewed from the loop that runs the triggers.

A loop that hangs does not renew, so the other replicas take over. While the API server cannot be reached, membership
does not change; afterwards every replica gets a whole lease duration to renew. A Lease gives no right to write.
"""

import asyncio
import logging
from collections.abc import Callable
from hashlib import blake2b
from typing import Never

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client import errors, lease
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.lease import Lease, LeaseConfig, ObservedLease
from torpor_kubernetes.client.resources import LEASES
from torpor_kubernetes.timing import within
from torpor_wire import constants
from torpor_wire.retry import Backoff

from torpor_triggerer.settings import Settings

_NAME_MAX = 253
UPDATE_EVERY = 1.0
FORGET_AFTER = 20
"""Lease durations after which any replica deletes the Lease of a dead one."""

log = logging.getLogger(__name__)


class Membership:
    """This replica's Lease, and those of the others. `on_members` gets the names of all live replicas."""

    def __init__(self, api: Api, settings: Settings, *, on_members: Callable[[frozenset[str]], None]) -> None:
        self._api = api
        self._clock = api.clock
        self._renew_every = settings.lease_renew
        self._retry = Backoff(first=min(1.0, settings.lease_renew), cap=settings.lease_renew)
        self._on_members = on_members
        self._lease_config = LeaseConfig(
            namespace=settings.namespace,
            name=_name(settings.pool, settings.identity),
            identity=settings.identity,
            duration=settings.lease_duration,
            labels={constants.LABEL_POOL: settings.pool},
        )
        self._others = Reflector(
            api,
            LEASES,
            lease.parse,
            on_change=self._note,
            jitter=api.jitter,
            namespaces=(settings.namespace,),
            label_selector=f"{constants.LABEL_POOL}={settings.pool}",
        )
        self._observed: dict[str, ObservedLease] = {}
        self._members: frozenset[str] = frozenset()
        self._renewed = float("-inf")
        self._held = False
        self._failures = 0

    @property
    def name(self) -> str:
        """The name of this replica among the members."""
        return self._lease_config.name

    @property
    def count(self) -> int:
        """The number of live replicas, including this one; 0 before the Lease is acquired."""
        return len(self._members)

    def lease_age(self) -> float:
        """Return the seconds since the Lease was renewed; infinite before it is acquired."""
        return self._clock.monotonic() - self._renewed

    async def run(self) -> Never:
        """Renew the Lease and watch the others until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._others.run())
            group.create_task(self._keep())
            await self._others.synced.wait()
            while True:
                self._update_members()
                await self._clock.sleep(UPDATE_EVERY)

    async def release(self) -> None:
        """Delete the Lease, so that the others take over at once; best effort."""
        if not self._held:
            return
        try:
            await within(self._clock, self._renew_every, self._delete(self._lease_config.name))
        except (errors.ApiError, TimeoutError) as error:
            log.info("Failed to delete the lease %s, which will expire: %s", self._lease_config.name, error)

    async def _keep(self) -> Never:
        while True:
            started = self._clock.monotonic()
            renewed = await self._renew()
            if renewed:
                if not self._held:
                    self._reset_observed(started)
                self._renewed = started
                self._update_members()
            self._held = renewed
            await self._sweep()
            await self._clock.sleep(self._pause(renewed))

    def _pause(self, renewed: bool) -> float:
        """The seconds until the next try: back-off after failures."""
        if renewed:
            self._failures = 0
            return self._renew_every
        self._failures += 1
        return self._retry.delay(self._failures, self._api.jitter())

    async def _renew(self) -> bool:
        try:
            await within(self._clock, self._renew_every, self._renew_or_acquire())
        except (errors.ApiError, TimeoutError) as error:
            log.warning("Failed to renew the lease %s: %s", self._lease_config.name, error)
            return False
        return True

    async def _renew_or_acquire(self) -> None:
        """After a failed renewal the next try reads first: the Lease may be gone, or still this replica's."""
        if self._held:
            await lease.renew(self._api, self._lease_config)
        else:
            await lease.acquire(self._api, self._lease_config, await lease.fetch(self._api, self._lease_config))

    async def _sweep(self) -> None:
        """Delete the Leases of replicas that ended long ago; no other component does."""
        long_ago = self._clock.monotonic() - FORGET_AFTER * self._lease_config.duration
        for name in [
            name for name, observed in self._observed.items() if observed.since < long_ago and name != self.name
        ]:
            try:
                await within(self._clock, self._renew_every, self._delete(name))
            except (errors.ApiError, TimeoutError) as error:
                log.info("Failed to delete the lease %s of a dead replica: %s", name, error)
                return

    def _reset_observed(self, now: float) -> None:
        """Give every replica a whole duration: none could renew while this one could not either."""
        self._observed = {
            name: ObservedLease(lease=observed.lease, since=now) for name, observed in self._observed.items()
        }

    def _update_members(self) -> None:
        now = self._clock.monotonic()
        if not self._others.synced.is_set() or now - self._renewed >= self._lease_config.duration:
            return
        live = frozenset(live_lease.name for live_lease in lease.live(self._observed, now)) | {self.name}
        if live != self._members:
            log.info("members: %s", ", ".join(sorted(live)))
            self._members = live
            self._on_members(live)

    def _note(self, notice: Notice[Lease]) -> None:
        if isinstance(notice, Unreadable):
            log.warning("Failed to parse the lease %s: %s", notice.name, notice.message)
        elif notice.item is None:
            self._observed.pop(notice.name, None)
        else:
            observed = lease.observe(self._observed.get(notice.name), notice.item, self._clock.monotonic())
            self._observed[notice.name] = observed
        if self._others.synced.is_set():
            self._update_members()

    async def _delete(self, name: str) -> None:
        await self._api.delete(LEASES, self._lease_config.namespace, name)


def _name(pool: str, identity: str) -> str:
    """Return the name of a replica's Lease. If it is too long it ends in a hash, so that all names stay different."""
    name = f"torpor-triggerer-{pool}-{identity}"
    if len(name) <= _NAME_MAX:
        return name
    digest = blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{name[: _NAME_MAX - len(digest) - 1].rstrip('-.')}-{digest}"

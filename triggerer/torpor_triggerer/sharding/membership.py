"""Which replicas of the pool are alive: a Lease each, renewed from the loop that runs the triggers.

A loop that hangs does not renew, so the others take over; and a view of the others that could not be renewed either is
not trusted: while the API server cannot be reached, membership stays as it was, and after it everybody is given a whole
duration to be seen again. A Lease says who should work; it gives no right to write.
"""

import asyncio
import logging
from collections.abc import Callable
from hashlib import blake2b
from typing import Never

from torpor_api.cache.reflector import Notice, Reflector, Unreadable
from torpor_api.client import errors, lease
from torpor_api.client.api import Api
from torpor_api.client.lease import Lease, Sighting, Terms
from torpor_api.client.resources import LEASES
from torpor_api.timing import within
from torpor_wire import constants

from torpor_triggerer.settings import Settings

_NAME_MAX = 253
JUDGE_EVERY = 1.0
RETRY_AFTER = 1.0
FORGET_AFTER = 20
"""Durations after which the Lease of a replica that died is deleted by whoever sees it."""

log = logging.getLogger(__name__)


class Membership:
    """This replica's Lease, and the others'. `on_members` gets the names of the live ones, this one's among them."""

    def __init__(self, api: Api, settings: Settings, *, on_members: Callable[[frozenset[str]], None]) -> None:
        self._api = api
        self._clock = api.clock
        self._renew_every = settings.lease_renew
        self._on_members = on_members
        self._terms = Terms(
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
            namespace=settings.namespace,
            label_selector=f"{constants.LABEL_POOL}={settings.pool}",
        )
        self._sightings: dict[str, Sighting] = {}
        self._members: frozenset[str] = frozenset()
        self._renewed = float("-inf")
        self._held = False
        self._failures = 0

    @property
    def name(self) -> str:
        """This replica among the members."""
        return self._terms.name

    @property
    def count(self) -> int:
        """How many live replicas it counts, this one among them; 0 before it is one."""
        return len(self._members)

    def silent_for(self) -> float:
        """Seconds since this replica's Lease was last renewed; infinite before it was taken."""
        return self._clock.monotonic() - self._renewed

    async def run(self) -> Never:
        """Keep the Lease and watch the others', for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._others.run())
            group.create_task(self._keep())
            await self._others.synced.wait()
            while True:
                self._judge()
                await self._clock.sleep(JUDGE_EVERY)

    async def release(self) -> None:
        """Let the others take over at once, best effort."""
        if not self._held:
            return
        try:
            await within(self._clock, self._renew_every, self._delete(self._terms.name))
        except (errors.ApiError, TimeoutError) as error:
            log.info("the lease %s is left to expire: %s", self._terms.name, error)

    async def _keep(self) -> Never:
        while True:
            started = self._clock.monotonic()
            renewed = await self._renew()
            if renewed:
                if not self._held:
                    self._forgive(started)
                self._renewed = started
                self._judge()
            self._held = renewed
            await self._sweep()
            await self._clock.sleep(self._pause(renewed))

    def _pause(self, renewed: bool) -> float:
        """Until the next try: ever longer while it fails, and not in step with the other replicas."""
        if renewed:
            self._failures = 0
            return self._renew_every
        delay = min(self._renew_every, RETRY_AFTER * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return delay * (0.5 + self._api.jitter() / 2)

    async def _renew(self) -> bool:
        try:
            await within(self._clock, self._renew_every, self._renew_or_acquire())
        except (errors.ApiError, TimeoutError) as error:
            log.warning("cannot renew the lease %s: %s", self._terms.name, error)
            return False
        return True

    async def _renew_or_acquire(self) -> None:
        """Whatever was amiss with a renewal, the next try looks first; it may be gone, or ours."""
        if self._held:
            await lease.renew(self._api, self._terms)
        else:
            await lease.acquire(self._api, self._terms, await lease.fetch(self._api, self._terms))

    async def _sweep(self) -> None:
        """Delete the Leases of replicas that died long ago: nobody else will."""
        long_ago = self._clock.monotonic() - FORGET_AFTER * self._terms.duration
        for name in [name for name, seen in self._sightings.items() if seen.since < long_ago and name != self.name]:
            try:
                await within(self._clock, self._renew_every, self._delete(name))
            except (errors.ApiError, TimeoutError) as error:
                log.info("the lease %s of a replica that died stays for now: %s", name, error)
                return

    def _forgive(self, now: float) -> None:
        """Nobody can be blamed for not renewing while this replica could not either."""
        self._sightings = {name: Sighting(lease=seen.lease, since=now) for name, seen in self._sightings.items()}

    def _judge(self) -> None:
        now = self._clock.monotonic()
        if not self._others.synced.is_set() or now - self._renewed >= self._terms.duration:
            return
        live = frozenset(one.name for one in lease.live(self._sightings, now)) | {self.name}
        if live != self._members:
            log.info("members: %s", ", ".join(sorted(live)))
            self._members = live
            self._on_members(live)

    def _note(self, notice: Notice[Lease]) -> None:
        if isinstance(notice, Unreadable):
            log.warning("the lease %s cannot be read: %s", notice.name, notice.message)
        elif notice.item is None:
            self._sightings.pop(notice.name, None)
        else:
            seen = lease.sight(self._sightings.get(notice.name), notice.item, self._clock.monotonic())
            self._sightings[notice.name] = seen
        if self._others.synced.is_set():
            self._judge()

    async def _delete(self, name: str) -> None:
        await self._api.delete(LEASES, self._terms.namespace, name)


def _name(pool: str, identity: str) -> str:
    """The Lease of a replica; one that would be too long ends in a hash, so that no two are cut to the same."""
    name = f"torpor-triggerer-{pool}-{identity}"
    if len(name) <= _NAME_MAX:
        return name
    digest = blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{name[: _NAME_MAX - len(digest) - 1].rstrip('-.')}-{digest}"

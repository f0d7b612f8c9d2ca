"""Leases: they decide which process works. They do not protect writes.

A holder renews every third of the duration and gives up after two thirds, before another process may take over. Others
measure expiry by their own clock, from when they last saw renewTime change (as client-go does), so clocks of different
machines are never compared. Every write is a JSON Patch whose `test` fails if another process wrote first. The
decisions are pure functions, the verbs send one request each, and `Leadership` is the loop.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Never, TypeVar

from torpor_kubernetes import timing
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES

T = TypeVar("T")

RENEW = 1 / 3
RETRY = 1 / 16
GIVE_UP = 2 / 3

log = logging.getLogger(__name__)


class LeaseLost(errors.ApiError):
    """The Lease was not renewed in time, or another process holds it: stop immediately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseConfig:
    """The Lease to hold. `identity` is unique to the process; `duration` is in seconds."""

    namespace: str
    name: str
    identity: str
    duration: int = 15
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The content of a Lease. `holder` is empty if no process holds it."""

    name: str
    holder: str
    duration: int
    renewed: str
    transitions: int
    resource_version: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLease:
    """A Lease, and the monotonic time since when it has been unchanged."""

    lease: Lease
    since: float


def parse(raw: Mapping[str, Any]) -> Lease:
    """Parse a Lease from the API server's JSON."""
    meta, spec = raw["metadata"], raw.get("spec") or {}
    return Lease(
        name=meta["name"],
        holder=spec.get("holderIdentity") or "",
        duration=int(spec.get("leaseDurationSeconds") or 1),
        renewed=spec.get("renewTime") or "",
        transitions=int(spec.get("leaseTransitions") or 0),
        resource_version=meta["resourceVersion"],
        labels=meta.get("labels") or {},
    )


def observe(previous: ObservedLease | None, lease: Lease, now: float) -> ObservedLease:
    """Record a Lease at `now` (monotonic). A renewal starts a new period."""
    if previous and (previous.lease.holder, previous.lease.renewed) == (lease.holder, lease.renewed):
        return ObservedLease(lease=lease, since=previous.since)
    return ObservedLease(lease=lease, since=now)


def expired(observed: ObservedLease, now: float) -> bool:
    """Return whether the holder did not renew for its whole duration."""
    return now - observed.since >= observed.lease.duration


def live(observed: Mapping[str, ObservedLease], now: float) -> list[Lease]:
    """Return the Leases that are held and not expired, sorted by name."""
    held = [seen.lease for seen in observed.values() if seen.lease.holder and not expired(seen, now)]
    return sorted(held, key=lambda lease: lease.name)


def may_acquire(observed: ObservedLease, identity: str, now: float) -> bool:
    """Return whether the Lease is free, already ours, or expired."""
    return observed.lease.holder in {"", identity} or expired(observed, now)


async def fetch(api: Api, config: LeaseConfig) -> Lease | None:
    """Read the Lease. Returns None if it does not exist."""
    try:
        return parse(await api.get(LEASES, config.namespace, config.name))
    except errors.NotFound:
        return None


async def acquire(api: Api, config: LeaseConfig, seen: Lease | None) -> Lease:
    """Take the Lease as read. Raises `errors.LostRace` or `errors.AlreadyExists` if another process was first."""
    now = timing.text(api.clock.now())
    changed = seen is None or seen.holder != config.identity
    spec = {
        "holderIdentity": config.identity,
        "leaseDurationSeconds": config.duration,
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": (seen.transitions if seen else 0) + changed,
    }
    if seen is None:
        metadata = {"name": config.name, "namespace": config.namespace, "labels": dict(config.labels)}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        return parse(await api.create(LEASES, config.namespace, body))
    ops = [_test("/metadata/resourceVersion", seen.resource_version), {"op": "add", "path": "/spec", "value": spec}]
    return parse(await api.patch(LEASES, config.namespace, config.name, ops))


async def renew(api: Api, config: LeaseConfig) -> Lease:
    """Renew the Lease. Raises `errors.LostRace` if another process holds it, `errors.NotFound` if it was deleted.

    The patch tests the holder, not the resourceVersion, so a renewal whose response was lost can be retried.
    """
    now = timing.text(api.clock.now())
    ops = [_test("/spec/holderIdentity", config.identity), {"op": "add", "path": "/spec/renewTime", "value": now}]
    return parse(await api.patch(LEASES, config.namespace, config.name, ops))


async def release(api: Api, config: LeaseConfig) -> None:
    """Release the Lease, so that another process can take it at once. Raises as `renew` does."""
    ops = [_test("/spec/holderIdentity", config.identity), {"op": "add", "path": "/spec/holderIdentity", "value": None}]
    await api.patch(LEASES, config.namespace, config.name, ops)


def _test(path: str, value: str) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


Renewals = Callable[[Api], Coroutine[Any, Any, Never]]
"""Renews a Lease with a client, until it is lost."""


async def at_once() -> None:
    """Ready without a wait."""


class Leadership:
    """Runs a coroutine while it holds a Lease.

    `run_renewals` runs the renewals, which must use the client that they get: by default in the same event loop, else
    in a thread of its own (`loop_thread`). They end when `is_alive` says that the event loop hangs.
    """

    def __init__(
        self,
        api: Api,
        config: LeaseConfig,
        *,
        run_renewals: Callable[[Renewals], Coroutine[Any, Any, Never]] | None = None,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self._api = api
        self._clock = api.clock
        self._config = config
        self._run_renewals = run_renewals or (lambda renewals: renewals(api))
        self._is_alive = is_alive
        self._until = float("-inf")

    def holds(self) -> bool:
        """Return whether the Lease is held, by the local clock alone."""
        return self._clock.monotonic() < self._until

    async def run(
        self, lead: Callable[[], Coroutine[Any, Any, T]], ready: Callable[[], Coroutine[Any, Any, Any]] = at_once
    ) -> T:
        """Wait for the Lease, run `lead` while renewing it, and release it.

        It takes the Lease only when `ready` has returned, and observes it meanwhile, so the expiry of a holder that was
        killed is not counted from then. Raises what `ready` raises. Raises `LeaseLost`, and cancels `lead`, if the
        Lease is lost.
        """
        preparing = asyncio.create_task(ready())
        try:
            await self._acquire(preparing)
        finally:
            preparing.cancel()
        log.info("%s holds the lease %s", self._config.identity, self._config.name)
        leading, keeping = asyncio.create_task(lead()), asyncio.create_task(self._run_renewals(self._keep))
        try:
            await asyncio.wait((leading, keeping), return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                keeping.result()
            return leading.result()
        finally:
            for task in (leading, keeping):
                task.cancel()
            await asyncio.gather(leading, keeping, return_exceptions=True)
            await self._release()

    async def _acquire(self, preparing: asyncio.Task[Any]) -> None:
        seen: ObservedLease | None = None
        while True:
            started = self._clock.monotonic()
            if preparing.done():
                preparing.result()
            try:
                lease = await fetch(self._api, self._config)
                # The time of the response, because the Lease may have been written while the request was in flight.
                now = self._clock.monotonic()
                seen = observe(seen, lease, now) if lease else None
                is_prepared = preparing.done() and preparing.exception() is None
                if is_prepared and (seen is None or may_acquire(seen, self._config.identity, now)):
                    await acquire(self._api, self._config, lease)
                    self._until = started + self._config.duration * GIVE_UP
                if self.holds():
                    return
            except (errors.LostRace, errors.AlreadyExists):
                log.debug("another process took the lease %s first", self._config.name)
            except errors.ApiError as error:
                log.warning("cannot take the lease %s: %s", self._config.name, error.message)
            await self._sleep(self._pause(seen), preparing)

    async def _sleep(self, seconds: float, preparing: asyncio.Task[Any]) -> None:
        """Sleep, at most until `preparing` has ended."""
        if preparing.done():
            await self._clock.sleep(seconds)
            return
        sleeping = asyncio.create_task(self._clock.sleep(seconds))
        try:
            await asyncio.wait((sleeping, preparing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()

    def _pause(self, seen: ObservedLease | None) -> float:
        """Return the seconds until the next try: at most until the Lease expires."""
        pause = self._config.duration * RETRY * (0.5 + self._api.jitter())
        left = 0.0 if seen is None else seen.since + seen.lease.duration - self._clock.monotonic()
        return min(pause, left) if left > 0 else pause

    async def _keep(self, api: Api) -> Never:
        pause = RENEW
        while True:
            await self._clock.sleep(self._config.duration * pause)
            started = self._clock.monotonic()
            if not self.holds():
                raise self._lost("it could not be renewed in time")
            if not self._is_alive():
                raise self._lost("the event loop hangs")
            try:
                await timing.within(self._clock, self._until - started, renew(api, self._config))
                self._until = started + self._config.duration * GIVE_UP
                pause = RENEW
            except (errors.LostRace, errors.NotFound) as exc:
                raise self._lost("another process holds it, or it was deleted") from exc
            except (errors.ApiError, TimeoutError) as exc:
                pause = RETRY
                log.warning("cannot renew the lease %s: %s", self._config.name, exc)

    def _lost(self, why: str) -> LeaseLost:
        self._until = float("-inf")
        return LeaseLost(f"lease {self._config.name} of {self._config.identity} is lost: {why}")

    async def _release(self) -> None:
        if not self.holds():
            return
        self._until = float("-inf")
        try:
            await timing.within(self._clock, self._config.duration * RENEW, release(self._api, self._config))
        except (errors.ApiError, TimeoutError) as exc:
            log.info("the lease %s is left to expire: %s", self._config.name, exc)

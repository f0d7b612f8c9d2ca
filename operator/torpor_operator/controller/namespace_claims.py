"""Finds out which installation serves a namespace, so that two installations never work on one (ADR 0067).

An installation with `--namespaces` holds the Lease `torpor-installation` in each of its namespaces. Every other one
leaves a namespace alone while such a Lease is live, also one that serves all namespaces. The Lease decides who works.
It does not protect writes, which are compare-and-sets: for some seconds after a namespace changes hands both may work.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Never

from torpor_kubernetes.client import errors, events, installation_lease, lease
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.events import EventPoster
from torpor_kubernetes.client.lease import LeaseConfig, ObservedLease
from torpor_kubernetes.client.resources import LEASES
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_operator.controller.namespaces import NamespaceUser

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceClaim:
    """The Lease of a namespace as last read, and its uid."""

    observed: ObservedLease
    uid: str


class NamespaceClaims:
    """`home` is the operator's own namespace, `namespaces` are those that it is confined to; none: it serves all."""

    def __init__(self, api: Api, poster: EventPoster, *, home: str, namespaces: Sequence[str]) -> None:
        self._api = api
        self._poster = poster
        self._home = home
        self._namespaces = namespaces
        self._claims: Mapping[str, NamespaceClaim] = {}
        self._others: Mapping[str, str] = {}
        """By namespace that another installation serves: the namespace of that installation."""

    def serves(self, namespace: str) -> bool:
        """Whether no other installation serves the namespace."""
        return namespace not in self._others

    async def run(self, users: Sequence[NamespaceUser]) -> Never:
        """Hold the Leases of the namespaces, and read those of other installations, forever."""
        while True:
            await self._api.clock.sleep(installation_lease.INTERVAL)
            before = set(self._others)
            await self.refresh()
            _enqueue(users, before - set(self._others))

    async def refresh(self) -> None:
        """Do one round. What cannot be read or written stays as it was."""
        try:
            claims = await self._hold() if self._namespaces else await self._read()
        except errors.ApiError as error:
            _LOG.warning("cannot read the Leases %s: %s", constants.INSTALLATION_LEASE, error.message)
            return
        now = self._api.clock.monotonic()
        holders = {
            name: installation_lease.other_holder(claim.observed, self._home, now) for name, claim in claims.items()
        }
        others = {name: holder for name, holder in holders.items() if holder}
        for name in others.keys() - self._others.keys():
            await self._report(name, others[name], claims[name].uid)
        self._claims, self._others = claims, others

    async def _read(self) -> Mapping[str, NamespaceClaim]:
        page = await self._api.list(LEASES, field_selector=installation_lease.SELECTOR)
        return {raw["metadata"]["namespace"]: self._observed(raw) for raw in page.items}

    async def _hold(self) -> Mapping[str, NamespaceClaim]:
        claims: dict[str, NamespaceClaim] = {}
        for namespace in self._namespaces:
            try:
                claims[namespace] = await self._claim(namespace)
            except errors.ApiError as error:
                _LOG.warning("cannot hold the Lease of namespace %s: %s", namespace, error.message)
                if namespace in self._claims:
                    claims[namespace] = self._claims[namespace]
        return claims

    async def _claim(self, namespace: str) -> NamespaceClaim:
        """Take or renew the Lease of a namespace, unless another installation holds it."""
        config = LeaseConfig(
            namespace=namespace,
            name=constants.INSTALLATION_LEASE,
            identity=self._home,
            duration=installation_lease.DURATION,
        )
        claim = await self._fetch(config)
        if claim and installation_lease.other_holder(claim.observed, self._home, self._api.clock.monotonic()):
            return claim
        try:
            await lease.acquire(self._api, config, claim.observed.lease if claim else None)
        except (errors.LostRace, errors.AlreadyExists):
            _LOG.info("another process wrote the Lease of namespace %s first", namespace)
        written = await self._fetch(config)
        if written is None:
            raise errors.NotFound(f"the Lease of namespace {namespace} was deleted")
        return written

    async def _fetch(self, config: LeaseConfig) -> NamespaceClaim | None:
        try:
            return self._observed(await self._api.get(LEASES, config.namespace, config.name))
        except errors.NotFound:
            return None

    def _observed(self, raw: Mapping[str, Any]) -> NamespaceClaim:
        before = self._claims.get(raw["metadata"]["namespace"])
        now = self._api.clock.monotonic()
        return NamespaceClaim(
            observed=lease.observe(before.observed if before else None, lease.parse(raw), now),
            uid=raw["metadata"]["uid"],
        )

    async def _report(self, namespace: str, holder: str, uid: str) -> None:
        message = overlap_message(namespace, holder, self._home)
        _LOG.warning("%s", message)
        regarding = events.reference(LEASES, namespace=namespace, name=constants.INSTALLATION_LEASE, uid=uid)
        body = events.build(
            regarding,
            reason=Reason.NAMESPACE_SERVED_ELSEWHERE,
            message=message,
            type="Warning",
            reporting_controller="torpor.dev/operator",
            now=self._api.clock.now(),
        )
        await self._poster.try_post(body)


def overlap_message(namespace: str, holder: str, home: str) -> str:
    """What two installations share, and how to choose one of them."""
    return (
        f"the installation in namespace {holder} serves namespace {namespace}, so the one in {home} leaves it alone. "
        f"Remove {namespace} from --namespaces of one of them. If the one in {holder} is gone, its Lease expires "
        "within a minute"
    )


def _enqueue(users: Sequence[NamespaceUser], namespaces: Collection[str]) -> None:
    for user in users:
        for key in [key for key in user.object_keys() if key.namespace in namespaces]:
            user.enqueue(key)

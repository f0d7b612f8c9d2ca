"""Why a pod does not start: the latest Warning among its Events, or among those of its claims."""

import logging
from collections.abc import Iterable

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import CLAIMS, EVENTS

from torpor_operator.controller.run_events import observed_at
from torpor_operator.model.actions import ReadClaimWarning, ReadPodWarning
from torpor_operator.model.snapshot import PodWarning

_LOG = logging.getLogger(__name__)
_CLAIMS = 5
"""Claims of a pod that are read."""
_EVENTS = 50
"""Events of a pod that are read in one page; the kubelet counts repetitions on one Event."""


class PodWarningReads:
    """Reads Warnings. Without the right to read Events there are none."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def of_pod(self, query: ReadPodWarning) -> PodWarning:
        """An error is no warning: the plan goes on without one, since an older role may not read Events."""
        try:
            async for page in self._api.pages(
                EVENTS, query.namespace, field_selector=f"regarding.uid={query.uid},type=Warning", limit=_EVENTS
            ):
                return _latest(page.items)
        except errors.ApiError as error:
            _LOG.warning("cannot read the Events of a pod in namespace %s: %s", query.namespace, error.message)
        return PodWarning()

    async def of_claims(self, query: ReadClaimWarning) -> PodWarning:
        """The last Event of the first claim that is Pending. An error is no warning, as for a pod."""
        try:
            for name in query.claims[:_CLAIMS]:
                stored = await self._api.get(CLAIMS, query.namespace, name)
                if stored.get("status", {}).get("phase") == "Pending":
                    return await self._claim_warning(query.namespace, name)
        except errors.NotFound:
            return PodWarning("NotFound", f"claim {name} does not exist")
        except errors.ApiError as error:
            _LOG.warning("cannot read a claim in namespace %s: %s", query.namespace, error.message)
        return PodWarning()

    async def _claim_warning(self, namespace: str, name: str) -> PodWarning:
        selector = f"regarding.kind=PersistentVolumeClaim,regarding.name={name}"
        latest = PodWarning()
        async for page in self._api.pages(EVENTS, namespace, field_selector=selector, limit=_EVENTS):
            latest = _latest(page.items)
            break
        why = f": {latest.reason}: {latest.message}" if latest.reason else ""
        return PodWarning(latest.reason or "Pending", f"claim {name} is Pending{why}")


def _latest(events: Iterable[Object]) -> PodWarning:
    last = max(events, key=observed_at, default=None)
    return PodWarning() if last is None else PodWarning(str(last.get("reason") or ""), str(last.get("note") or ""))

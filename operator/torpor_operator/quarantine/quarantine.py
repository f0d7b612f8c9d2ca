"""Holds back the objects at which an operator process ended, and reports it on each.

The entries are read and stored before anything else of the cluster is read. A good pass over an object removes its
entry, an hour after the last end at the earliest. Otherwise an author who edits an object between passes could end one
process after another, and each end would count as the first.
"""

import logging

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.events import EventPoster
from torpor_kubernetes.client.resources import Resource
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator import object_reports
from torpor_operator.model.actions import Notice
from torpor_operator.quarantine.entries import Entries, Hold
from torpor_operator.quarantine.lease_annotation import LeaseAnnotation
from torpor_operator.quarantine.object_ref import ObjectRef

_LOG = logging.getLogger(__name__)
_PAUSE = 1.0
_REPORTED_IN_NAMESPACE = 20
"""Objects that are reported because their whole namespace is held back."""
_REPORTED_MAX = 1000


class Quarantine:
    """One for a process. `ended_at` is the object at which the process before this one ended, if any."""

    def __init__(
        self, api: Api, annotation: LeaseAnnotation, poster: EventPoster, *, ended_at: ObjectRef | None = None
    ) -> None:
        self._api = api
        self._poster = poster
        self._annotation = annotation
        self._entries = Entries()
        if ended_at is not None:
            _LOG.warning("the former process ended while it worked on %s", ended_at)
        self._ended_at = ended_at
        self._released: set[ObjectRef] = set()
        self._reported: set[tuple[str, float]] = set()

    async def load(self) -> None:
        """Read the stored entries, and store those of this process. Tries until the API server answers."""
        while True:
            try:
                stored = await self._annotation.merge(self._entries)
                if self._ended_at is not None:
                    stored = stored.with_death(self._ended_at, self._api.clock.now())
                self._entries = await self._annotation.merge(stored)
            except errors.ApiError as error:
                _LOG.warning("cannot read the quarantine: %s", error.message)
                await self._api.clock.sleep(_PAUSE)
            else:
                self._ended_at = None
                return

    def hold(self, ref: ObjectRef) -> Hold | None:
        """Why an object waits; None if the operator may work on it."""
        return self._entries.hold(ref, self._api.clock.now()) if self._entries.by_ref else None

    async def release(self, ref: ObjectRef) -> None:
        """Forget an object that the operator has worked on, unless a process ended at it lately."""
        if not self._entries.may_forget(ref, self._api.clock.now()):
            return
        self._entries = self._entries.without(ref)
        self._released.add(ref)
        try:
            self._entries = await self._annotation.merge(self._entries, forget=frozenset(self._released))
            self._released.clear()
        except errors.ApiError as error:
            _LOG.warning("cannot store the quarantine: %s", error.message)

    async def report(self, resource: Resource, ref: ObjectRef, hold: Hold) -> None:
        """Report on the object that it waits, once for each hold. Errors of the API server are logged."""
        reported = (ref.uid, hold.until)
        same_hold = sum(until == hold.until for _, until in self._reported)
        if reported in self._reported or same_hold >= _REPORTED_IN_NAMESPACE:
            return
        if len(self._reported) >= _REPORTED_MAX:
            self._reported.clear()
        self._reported.add(reported)
        try:
            await self._write_report(resource, ref, hold)
        except (errors.LostRace, errors.NotFound):
            self._reported.discard(reported)
        except errors.ApiError as error:
            _LOG.warning("%s: cannot report the quarantine: %s", ref, error.message)

    async def _write_report(self, resource: Resource, ref: ObjectRef, hold: Hold) -> None:
        body = await self._api.get(resource, ref.namespace, ref.name)
        if body["metadata"].get("uid") != ref.uid:
            return
        message = _message(resource, hold)
        condition = {"type": "Quarantined", "status": "True", "reason": str(Reason.OPERATOR_ENDED), "message": message}
        await object_reports.set_condition(self._api, resource, body, condition)
        notice = Notice(reason=Reason.OPERATOR_ENDED, message=message, warning=True)
        await object_reports.post(self._poster, resource, ref, [notice])


def _message(resource: Resource, hold: Hold) -> str:
    until = times.rfc3339(hold.until)
    if hold.namespace_objects:
        return (
            f"The operator ended while it worked on {hold.namespace_objects} objects of this namespace. "
            f"It works on the namespace again at {until}"
        )
    times_ended = "once" if hold.deaths == 1 else f"{hold.deaths} times"
    return (
        f"The operator ended {times_ended} while it worked on this {resource.kind}. It tries again at {until}. "
        f"If it ends again, delete the {resource.kind} and report the log of the operator"
    )

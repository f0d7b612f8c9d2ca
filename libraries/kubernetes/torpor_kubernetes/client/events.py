"""Events, which `kubectl describe` shows below an object.

The name is a hash of the object and the text, so the same Event is created once. Events are for people: no part of
Torpor reads one, and a failure to create one is harmless. Building is pure; `post` sends the request.
"""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any, Literal

from torpor_wire import text

from torpor_kubernetes import timing
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import EVENTS, Resource
from torpor_kubernetes.fairness.event_limits import EventLimits, Verdict, event_identity

_LOG = logging.getLogger(__name__)
NOTE_MAX = 1024
NAME_MAX = 253


def reference(resource: Resource, *, namespace: str, name: str, uid: str) -> dict[str, str]:
    """Build an ObjectReference."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "namespace": namespace,
        "name": name,
        "uid": uid,
    }


def build(  # noqa: PLR0913 - the fields of the API's Event
    regarding: Mapping[str, str],
    *,
    reason: str,
    message: str,
    type: Literal["Normal", "Warning"],  # noqa: A002 - the API's name
    reporting_controller: str,
    now: float,
    action: str | None = None,
    reporting_instance: str | None = None,
) -> dict[str, Any]:
    """Build an Event about a `reference`. `reporting_controller` is a qualified name such as `torpor.dev/operator`.

    `action` is a CamelCase word for the operation; the default is the reason. The message is cut to the API server's
    limit of 1,024 bytes.
    """
    note = _cut(message)
    identity = "\n".join((regarding["uid"], type, reason, note))
    suffix = "." + hashlib.sha256(identity.encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": regarding["name"][: NAME_MAX - len(suffix)].rstrip("-.") + suffix,
            "namespace": regarding["namespace"],
        },
        "regarding": dict(regarding),
        "reason": reason,
        "note": note,
        "type": type,
        "action": action or reason,
        "eventTime": timing.text(now),
        "reportingController": reporting_controller,
        "reportingInstance": (reporting_instance or reporting_controller)[:128],
    }


def with_similar(body: Mapping[str, Any], count: int) -> Mapping[str, Any]:
    """The Event, with the number of similar ones before it that were not posted."""
    if not count:
        return body
    suffix = f" ({count} similar Events before it were not posted)"
    return {**body, "note": _cut(body["note"], NOTE_MAX - len(suffix)) + suffix}


async def post(api: Api, body: Mapping[str, Any]) -> None:
    """Create an Event unless it exists."""
    try:
        await api.create(EVENTS, body["metadata"]["namespace"], body)
    except errors.AlreadyExists:
        return


def _cut(message: str, limit: int = NOTE_MAX) -> str:
    data = text.printable(message).encode()
    return data.decode() if len(data) <= limit else data[: limit - 4].decode(errors="ignore") + " ..."


class EventPoster:
    """Posts Events that are within the limits. The others are dropped, counted, and reported once a minute."""

    def __init__(self, api: Api, limits: EventLimits) -> None:
        self._api = api
        self._limits = limits

    @property
    def dropped(self) -> int:
        """Events that were dropped since the start."""
        return self._limits.dropped

    def now(self) -> float:
        """Seconds since the epoch, for the time of an Event."""
        return self._api.clock.now()

    async def post(self, body: Mapping[str, Any]) -> None:
        """Post an Event, unless it is above a limit or was posted before. Raises errors.ApiError."""
        key, now = event_identity(body), self._api.clock.monotonic()
        decision = self._limits.admit(key, now)
        if decision.verdict is Verdict.POST:
            try:
                await post(self._api, with_similar(body, decision.similar))
            except BaseException:
                self._limits.withdraw(key)
                raise
        elif (report := self._limits.report(now)) is not None:
            _LOG.warning("%s", report)

    async def try_post(self, body: Mapping[str, Any]) -> None:
        """Post an Event. One that cannot be posted is logged and lost."""
        try:
            await self.post(body)
        except errors.ApiError as error:
            regarding = body["regarding"]
            _LOG.warning("%s/%s: cannot post an Event: %s", regarding["namespace"], regarding["name"], error.message)

"""Checks whether a loop of the operator may work on an object, and records that it does."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from torpor_kubernetes.client.resources import Resource
from torpor_wire import times

from torpor_operator.quarantine.object_ref import ObjectRef, ref_of
from torpor_operator.quarantine.quarantine import Quarantine
from torpor_operator.quarantine.work_tracker import WorkTracker

T = TypeVar("T")
Raw = TypeVar("Raw", bound=Mapping[str, Any])


class QuarantinedError(ValueError):
    """The object is not read now."""


class WorkGuard:
    """Tracks the work on each object, and refuses work on what is in quarantine. Without a quarantine nothing is."""

    def __init__(self, tracker: WorkTracker | None = None, quarantine: Quarantine | None = None) -> None:
        self.tracker = tracker or WorkTracker()
        self._quarantine = quarantine

    async def load(self) -> None:
        """Read which objects are in quarantine, and store the one at which the former process ended."""
        if self._quarantine is not None:
            await self._quarantine.load()
        self.tracker.forget()

    async def reconcile(
        self, resource: Resource, ref: ObjectRef, reconcile: Callable[[], Coroutine[Any, Any, float | None]]
    ) -> float | None:
        """Run one pass, and return when the next one is due. An object in quarantine is reported instead."""
        if self._quarantine is not None and (hold := self._quarantine.hold(ref)) is not None:
            await self._quarantine.report(resource, ref, hold)
            return hold.until
        due = await self.tracker.track(ref, reconcile())
        if self._quarantine is not None:
            await self._quarantine.release(ref)
        return due

    def reader(self, kind: str, parse: Callable[[Raw], T]) -> Callable[[Raw], T]:
        """`parse`, tracked. It raises `QuarantinedError` for an object in quarantine."""

        def read(raw: Raw) -> T:
            ref = ref_of(kind, raw)
            if self._quarantine is not None and (hold := self._quarantine.hold(ref)) is not None:
                raise QuarantinedError(
                    f"the operator ended while it read this {kind}; it is read again when it changes after "
                    f"{times.rfc3339(hold.until)}"
                )
            with self.tracker.step(ref):
                return parse(raw)

        return read

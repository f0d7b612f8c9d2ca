"""One attempt of an object task: act once, then wait for the object by a shared watch.

Every step may be repeated by another replica: a creation finds the object that it created before.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from torpor.triggers.support.polling import BusyError
from torpor_kubernetes.cache.store import version_of
from torpor_kubernetes.client import errors
from torpor_wire.canonical import Json
from torpor_wire.enums import ObjectAction
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_triggerer.model.object_error import AccountForbiddenError, ObjectTaskError
from torpor_triggerer.objects.call import TaskObject
from torpor_triggerer.objects.judgement import Judge
from torpor_triggerer.services.account_objects import AccountObjects
from torpor_triggerer.services.account_watch import ObjectSelector, ObjectSubscription

EVALUATE_SECONDS = 1.0
"""The shortest time between two evaluations of one object, however often it changes."""
AGAIN = Backoff(first=1.0, cap=30.0)


class ObjectWait:
    """The attempt."""

    def __init__(self, subject: TaskObject, objects: AccountObjects, judge: Judge) -> None:
        self._subject = subject
        self._objects = objects
        self._judge = judge
        self._clock = objects.common.clock

    async def run(self) -> Json:
        """Return the result of the task. Raises ObjectTaskError if it failed."""
        call = self._subject.call
        if call.action is ObjectAction.DELETE:
            return await self._delete()
        if call.until is None and call.action is not ObjectAction.GET:
            return await self._judge.result(await self._act())
        selector = ObjectSelector() if self._subject.is_created else ObjectSelector(self._subject.name)
        async with self._subscribed(selector) as subscription:
            return await self._until_done(subscription)

    async def delete_created(self) -> None:
        """Delete the object if this attempt created it."""
        stored = await self._objects.get(self._subject.name)
        if stored is not None and self._subject.is_own(stored):
            await self._objects.delete(self._subject.name, stored["metadata"]["uid"])

    async def _until_done(self, subscription: ObjectSubscription) -> Json:
        version = await self._act()
        uid, known = None if version is None else version["metadata"]["uid"], 0
        while True:
            version = version or await self._objects.get(self._subject.name)
            uid = self._checked(version, uid)
            if version is not None and version_of(version) >= known:
                known = version_of(version)
                judgement = await self._judge.judge(version)
                if judgement.is_done:
                    return await self._judge.result(version)
                self._objects.say(judgement.last_look)
            await self._clock.sleep(EVALUATE_SECONDS)
            version = await self._next(subscription)

    def _checked(self, version: Mapping[str, Any] | None, uid: str | None) -> str | None:
        """Return the uid of the object. Raises ObjectTaskError if the object was deleted or replaced."""
        found = None if version is None else version["metadata"]["uid"]
        if self._subject.call.action is ObjectAction.GET:
            if found is None:
                self._objects.say(f"{self._subject.words} does not exist")
            return found
        if found == uid:
            return uid
        raise ObjectTaskError(Reason.OBJECT_DELETED, f"{self._subject.words} was deleted while the task waited for it")

    async def _act(self) -> Any:
        """Do what the task is for, and return the object; None if the task only waits for it."""
        subject = self._subject
        match subject.call.action:
            case ObjectAction.CREATE:
                return await self._created()
            case ObjectAction.APPLY:
                return await self._objects.apply(subject.name, subject.body(), subject.manager)
            case ObjectAction.PATCH:
                return await self._objects.merge(subject.name, subject.body())
            case _:
                return await self._objects.get(subject.name)

    async def _created(self) -> Mapping[str, Any]:
        """Create the object, or adopt the one that this attempt created before."""
        subject, failures = self._subject, 0
        while True:
            created = await self._objects.create(subject.body())
            stored = created if created is not None else await self._objects.get(subject.name)
            if stored is not None:
                if created is not None or subject.is_own(stored):
                    return stored
                if "deletionTimestamp" not in stored["metadata"]:
                    raise subject.taken(stored)
                self._objects.say(f"{subject.words} of another owner is being deleted")
            failures += 1
            await self._clock.sleep(AGAIN.delay(failures, self._objects.common.jitter()))

    async def _delete(self) -> Json:
        """Delete the object and wait until it is gone."""
        async with self._subscribed(ObjectSelector(self._subject.name)) as subscription:
            stored = await self._objects.get(self._subject.name)
            if stored is None:
                return None
            uid = stored["metadata"]["uid"]
            await self._objects.delete(self._subject.name, uid)
            while stored is not None and stored["metadata"]["uid"] == uid:
                self._objects.say(f"{self._subject.words} is being deleted")
                await self._next(subscription)
                stored = await self._objects.get(self._subject.name)
            return None

    async def _next(self, subscription: ObjectSubscription) -> Mapping[str, Any] | None:
        try:
            return await subscription.next()
        except (errors.Forbidden, AccountForbiddenError) as error:
            raise self._objects.forbidden(error) from error

    @asynccontextmanager
    async def _subscribed(self, selector: ObjectSelector) -> AsyncIterator[ObjectSubscription]:
        """Subscribe to the object before anything is done, so that no change is missed."""
        failures = 0
        while True:
            held = self._objects.watch(selector)
            try:
                watch = await held.__aenter__()
            except BusyError as error:
                self._objects.say(str(error))
                failures += 1
                await self._clock.sleep(AGAIN.delay(failures, self._objects.common.jitter()))
            else:
                break
        try:
            with watch.subscribed(self._subject.name) as subscription:
                try:
                    await watch.begun()
                except (errors.Forbidden, AccountForbiddenError) as error:
                    raise self._objects.forbidden(error) from error
                yield subscription
        finally:
            await held.__aexit__(None, None, None)

"""The trigger of object tasks. It is registered as `object_task`, and runs for tasks with `object` only."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from torpor.triggers import BaseTrigger, TriggerEvent
from torpor.triggers.services import Services
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import constants
from torpor_wire.enums import ObjectEnd
from torpor_wire.objects import object_manifest

from torpor_triggerer.model.object_error import ObjectTaskError
from torpor_triggerer.objects import call
from torpor_triggerer.objects.backends import ObjectServices
from torpor_triggerer.objects.call import TaskObject
from torpor_triggerer.objects.judgement import Judge
from torpor_triggerer.objects.waiting import ObjectWait
from torpor_triggerer.services import account_objects
from torpor_triggerer.services.account_objects import AccountObjects
from torpor_triggerer.services.account_tokens import Account


class ObjectTrigger(BaseTrigger):
    """Acts on an object and waits for it. The event is the result of the task.

    Args:
        action: What the task does, for descriptions.
        api_version: apiVersion of the object, for descriptions.
        kind: kind of the object, for descriptions.
        name: name of the object, for descriptions.
    """

    shareable = False

    def __init__(self, action: str, api_version: str, kind: str, name: str | None = None) -> None:
        self._kwargs = {"action": action, "api_version": api_version, "kind": kind} | ({"name": name} if name else {})
        self._end: ObjectEnd | None = None
        self._services: ObjectServices | None = None

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the given arguments."""
        return constants.OBJECT_TASK, self._kwargs

    def bind(self, services: Services) -> None:
        """Keep the services of the triggerer. Raises ValueError elsewhere."""
        super().bind(services)
        if not isinstance(services, ObjectServices):
            raise ValueError("object tasks run in the main loop of a triggerer")  # noqa: TRY004 - a wrong setting
        self._services = services

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Act, and wait until the object is as the task wants it."""
        try:
            subject = call.read(await self._taskrun(), self._used.segment_id)
            if subject is None:
                return
            result = await (await self._wait(subject)).run()
        except ObjectTaskError:
            self._end = ObjectEnd.FAILED
            raise
        self._end = ObjectEnd.SUCCEEDED
        yield TriggerEvent(result)

    async def on_kill(self) -> None:
        """Delete the object of a cancelled task, unless it is to be kept."""
        await self._delete_after(await self._taskrun(), ObjectEnd.CANCELLED)

    async def settled(self) -> None:
        """Delete the object after the outcome was written: a repeat before that would create it again."""
        taskrun = await self._taskrun()
        if taskrun is not None and call.is_settled(taskrun, self._used.segment_id):
            await self._delete_after(taskrun, self._end or ObjectEnd.TIMED_OUT)

    async def _delete_after(self, taskrun: Mapping[str, Any] | None, end: ObjectEnd) -> None:
        subject = call.read(taskrun, self._used.segment_id)
        if subject is not None and subject.is_created and object_manifest.deletes(subject.call.delete_on_end, end):
            await (await self._wait(subject)).delete_created()

    async def _taskrun(self) -> Mapping[str, Any] | None:
        services = self._used
        selector = f"metadata.name={services.name}"
        page = await services.backends.api.list(TASKRUNS, services.namespace, field_selector=selector)
        return page.items[0] if page.items else None

    async def _wait(self, subject: TaskObject) -> ObjectWait:
        services = self._used
        backends = services.backends
        api_version, kind = subject.call.api_version, subject.call.kind
        objects = AccountObjects(
            common=backends.api,
            account=backends.accounts.api_for(Account(services.namespace, services.account)),
            clients=backends.clients,
            resource=await account_objects.discover(backends.api, api_version, kind, self._say),
            say=self._say,
        )
        return ObjectWait(subject, objects, Judge(subject, services.evaluate))

    def _say(self, text: str) -> None:
        self.last_look = text

    @property
    def _used(self) -> ObjectServices:
        if self._services is None:
            raise RuntimeError("the trigger is not bound")
        return self._services

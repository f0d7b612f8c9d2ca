"""Watches a Kubernetes object of any kind until it exists and meets a condition.

Only objects in the namespace of the TaskRun, because the triggerer may read more than the author of a workflow, and
conditions reveal what they read. RBAC decides which kinds the triggerer may read.
"""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import NotYetError, Services
from torpor.triggers.support import arguments

ROOTS = frozenset({"object"})
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9])?")


class Kubernetes(BaseTrigger):
    """Fires when an object exists and a condition on it is true.

    The event is `{name, namespace, uid, resourceVersion, result}`. A missing field means "not yet".

        Kubernetes("batch/v1", "Job", "train", condition="object.status.succeeded > 0")

    Args:
        api_version: Such as `batch/v1`.
        kind: Such as `Job`. It must be namespaced.
        name: The name of the object.
        condition: A CEL expression over `object`. By default the object only has to exist.
        namespace: The namespace of the TaskRun; others are not allowed.
        result: A CEL expression over `object`, whose value is `result` in the event.
    """

    def __init__(  # noqa: PLR0913 - the identity of an object and its conditions
        self,
        api_version: str,
        kind: str,
        name: str,
        *,
        condition: str | None = None,
        namespace: str | None = None,
        result: str | None = None,
    ) -> None:
        self.api_version = _text(api_version, "api_version")
        self.kind = _text(kind, "kind")
        self.name = _text(name, "name")
        self.condition = None if condition is None else _text(condition, "condition")
        self.namespace = None if namespace is None else _text(namespace, "namespace")
        self.result = None if result is None else _text(result, "result")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name {self.name[:100]!r} is not a valid name of a Kubernetes object")

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the given arguments."""
        return "kubernetes", arguments.differing(self, Kubernetes.__init__)

    def bind(self, services: Services) -> None:
        """Check the namespace and the expressions. Raises ValueError."""
        super().bind(services)
        if self.namespace not in {None, services.namespace}:
            raise ValueError(
                f"namespace {self.namespace!r} is not that of the TaskRun: a workflow can only wait for objects of "
                f"its own namespace {services.namespace!r}"
            )
        for expression in filter(None, (self.condition, self.result)):
            services.check(expression, ROOTS)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Check the object now and after each change."""
        from contextlib import aclosing  # noqa: PLC0415 - not needed in a task pod

        self.last_look = f"{self.kind} {self.name} does not exist"
        async with aclosing(self.services.versions(self.api_version, self.kind, self.name)) as versions:
            async for version in versions:
                if await self._meets(version):
                    yield TriggerEvent(await self._payload(version))
                    return

    async def _meets(self, version: Mapping[str, Any]) -> bool:
        if self.condition is None:
            return True
        try:
            value = await self.services.evaluate(self.condition, {"object": version})
        except NotYetError as error:
            self.last_look = f"{self.kind} {self.name}: {error}"
            return False
        if not isinstance(value, bool):
            raise TypeError(
                f"condition yields a value of type {type(value).__name__}, not true or false: {self.condition}"
            )
        self.last_look = f"{self.kind} {self.name}: condition is {str(value).lower()}"
        return value

    async def _payload(self, version: Mapping[str, Any]) -> dict[str, Any]:
        metadata = version["metadata"]
        event = {name: metadata.get(name) for name in ("name", "namespace", "uid", "resourceVersion")}
        if self.result is None:
            return event
        try:
            return event | {"result": await self.services.evaluate(self.result, {"object": version})}
        except NotYetError as error:
            raise ValueError(f"result: {error}") from error


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {type(value).__name__}")
    if not value:
        raise ValueError(f"{name} is empty")
    return value

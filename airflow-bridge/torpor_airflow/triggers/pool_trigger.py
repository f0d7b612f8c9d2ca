"""A trigger class of Airflow as a triggerer of Torpor makes and runs it."""

import inspect
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from torpor.triggers.services import Services

from torpor_airflow import serde
from torpor_airflow.connections import backend, scope
from torpor_airflow.triggers.task_instance import TaskInstanceStub

ARGUMENT = "airflow"
"""The argument with connections and variables. No class of Airflow's providers has one of this name."""


class PoolTrigger:
    """Put before a trigger class of Airflow: decodes its arguments, and shows its connections to it alone."""

    shareable = False  # it may have side effects: HttpTrigger sends a POST

    def __init__(self, *, airflow: object = None, **kwargs: Any) -> None:
        self._torpor_secrets = scope.parse(airflow)
        backend.check(self._torpor_secrets)
        scope.activate(self._torpor_secrets)
        try:
            super().__init__(**serde.decode(kwargs))
        finally:
            scope.activate(scope.NOTHING)

    def bind(self, services: Services) -> None:
        """Set what Airflow's triggerer sets."""
        trigger: Any = self
        trigger.trigger_id = services.taskrun.uid
        trigger.task_instance = TaskInstanceStub(services.taskrun, services.namespace)

    async def run(self) -> AsyncIterator[Any]:
        """Run the trigger of Airflow with its connections."""
        scope.activate(self._torpor_secrets)
        parent: Any = super()
        async for event in parent.run():
            yield event

    async def cleanup(self) -> None:
        """Release what the trigger holds."""
        scope.activate(self._torpor_secrets)
        parent: Any = super()
        await parent.cleanup()

    async def on_kill(self) -> None:
        """Stop what the trigger has started."""
        scope.activate(self._torpor_secrets)
        parent: Any = super()
        await parent.on_kill()


def build_class(trigger_class: type, base: type[PoolTrigger] = PoolTrigger) -> type:
    """Return the class for a triggerer, with `base` first. Name, module and signature are those of Airflow."""
    members: dict[str, Any] = {"__module__": trigger_class.__module__, "__doc__": trigger_class.__doc__}
    with suppress(TypeError, ValueError):
        members["__signature__"] = inspect.signature(trigger_class)
    return type(trigger_class.__name__, (base, trigger_class), members)

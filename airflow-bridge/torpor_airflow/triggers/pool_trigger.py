"""A trigger class of Airflow as a triggerer of Torpor makes and runs it."""

import inspect
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from torpor.triggers.services import Services

from torpor_airflow import serde
from torpor_airflow.connections import backend, pool_lookups, scope
from torpor_airflow.connections.pool_lookups import LookupOnLoopError, PoolLookups
from torpor_airflow.triggers.task_instance import TaskInstanceStub

ARGUMENT = "airflow"
"""The argument with connections and variables. No class of Airflow's providers has one of this name."""


class PoolTrigger:
    """Put before a trigger class of Airflow: decodes its arguments, and shows its connections to it alone."""

    shareable = False  # it may have side effects: HttpTrigger sends a POST

    def __init__(self, *, airflow: object = None, **kwargs: Any) -> None:
        pool_lookups.mark_pool()
        self._torpor_secrets = scope.parse(airflow)
        self._torpor_lookups = PoolLookups()
        backend.check(self._torpor_secrets)
        scope.activate(self._torpor_secrets)
        try:
            with pool_lookups.active(self._torpor_lookups):
                super().__init__(**serde.decode(kwargs))
        except LookupOnLoopError as error:
            raise ValueError(
                f"its constructor asks the secrets backend for {error.query}: give it as airflow.connections or "
                "airflow.variables"
            ) from None
        finally:
            scope.activate(scope.NOTHING)

    def bind(self, services: Services) -> None:
        """Set what Airflow's triggerer sets."""
        self._torpor_secrets = replace(self._torpor_secrets, namespace=services.namespace)
        self._torpor_lookups.bind(services)
        trigger: Any = self
        trigger.trigger_id = services.taskrun.uid
        trigger.task_instance = TaskInstanceStub(services.taskrun, services.namespace)

    async def run(self) -> AsyncIterator[Any]:
        """Run the trigger of Airflow with its connections."""
        self._torpor_activate()
        parent: Any = super()
        async for event in self._torpor_lookups.events(parent.run):
            yield event

    async def cleanup(self) -> None:
        """Release what the trigger holds."""
        self._torpor_activate()
        parent: Any = super()
        await self._torpor_lookups.call(parent.cleanup)

    async def on_kill(self) -> None:
        """Stop what the trigger has started."""
        self._torpor_activate()
        parent: Any = super()
        await self._torpor_lookups.call(parent.on_kill)

    def _torpor_activate(self) -> None:
        scope.activate(self._torpor_secrets)
        pool_lookups.activate(self._torpor_lookups)


def build_class(trigger_class: type, base: type[PoolTrigger] = PoolTrigger) -> type:
    """Return the class for a triggerer, with `base` first. Name, module and signature are those of Airflow."""
    members: dict[str, Any] = {"__module__": trigger_class.__module__, "__doc__": trigger_class.__doc__}
    with suppress(TypeError, ValueError):
        members["__signature__"] = inspect.signature(trigger_class)
    return type(trigger_class.__name__, (base, trigger_class), members)

"""Trigger classes for tests."""

from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent


class UnfinishedTrigger(BaseTrigger):
    """A base class that refuses a subclass without a hook, as the one of the Amazon provider does."""

    hook_class: type

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "hook_class"):
            raise AttributeError(f"{cls.__name__}.hook_class should be set")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "sample_triggers.UnfinishedTrigger", {}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent("done")


class FinishedTrigger(UnfinishedTrigger):
    """A class that can run."""

    hook_class = str


class ConnectedTrigger(FinishedTrigger):
    """Takes a connection, and asks for its task before it cancels something."""

    def __init__(self, sample_conn_id: str = "sample_default") -> None:
        super().__init__()
        self.sample_conn_id = sample_conn_id

    async def safe_to_cancel(self) -> bool:
        return bool(self.task_instance.get_task_states(dag_id="one"))


class HandingTrigger(ConnectedTrigger):
    """Hands its connection to its base."""

    def __init__(self, rows: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rows = rows


class AskingTrigger(ConnectedTrigger):
    """Asks for its task while it waits."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(self.task_instance.get_task_states(dag_id="one"))

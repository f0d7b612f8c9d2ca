"""Trigger classes for tests."""

from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TaskFailedEvent, TaskSkippedEvent, TriggerEvent
from asgiref.sync import sync_to_async


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


class DatabaseTrigger(FinishedTrigger):
    """Opens a session of Airflow's database: in its coroutine, in a thread, or by a model of Airflow."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(await getattr(self, self.way)())

    async def opens_a_session(self) -> Any:
        from airflow.utils.session import create_session  # noqa: PLC0415 - as providers do

        with create_session() as session:  # create_session
            return session

    async def asks_settings_for_a_session(self) -> Any:
        from airflow import settings  # noqa: PLC0415

        return settings.get_session()  # settings.get_session

    async def counts_rows_in_a_thread(self) -> Any:
        from airflow.utils.session import provide_session  # noqa: PLC0415

        def count(session: Any = None) -> int:
            return int(session.scalar())

        return await sync_to_async(provide_session(count))()

    async def finds_runs_in_a_thread(self) -> Any:
        from airflow.models.dagrun import DagRun  # noqa: PLC0415

        return await sync_to_async(DagRun.find)(dag_id="etl")


class EndingTrigger(FinishedTrigger):
    """Ends its task by an event of Airflow."""

    def __init__(self, skips: bool) -> None:
        super().__init__()
        self.skips = skips

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TaskSkippedEvent() if self.skips else TaskFailedEvent()

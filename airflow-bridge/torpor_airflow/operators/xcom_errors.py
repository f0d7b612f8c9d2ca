"""Names the task and the key of an XCom that Airflow's serde cannot store. Airflow names its type alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from airflow.sdk.execution_time import task_runner


class UnstorableXComError(TypeError):
    """An operator returned or pushed a value that cannot be serialized."""


@contextmanager
def named() -> Iterator[None]:
    """Let each push inside the block that fails name its task and its key."""
    push, push_async = task_runner._xcom_push, task_runner._axcom_push  # noqa: SLF001 - of xcom_push and of results

    def named_push(instance: Any, key: str, value: Any, **others: Any) -> None:
        with _named(instance.task_id, key, value):
            push(instance, key, value, **others)

    async def named_push_async(instance: Any, key: str, value: Any, **others: Any) -> None:
        with _named(instance.task_id, key, value):
            await push_async(instance, key, value, **others)

    with (
        patch.object(task_runner, "_xcom_push", named_push),
        patch.object(task_runner, "_axcom_push", named_push_async),
    ):
        yield


@contextmanager
def _named(task: str, key: str, value: Any) -> Iterator[None]:
    try:
        yield
    except (TypeError, RecursionError) as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise UnstorableXComError(
            f"the XCom {key} of task {task}, of type {kind}, cannot be serialized: {error}"
        ) from error

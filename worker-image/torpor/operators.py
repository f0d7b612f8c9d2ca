"""`BaseOperator`: a task as a class, with Airflow's surface, for operators that are moved here.

Nothing requires it: a workflow may name any class that has `execute(context)`.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from torpor.context import Context
from torpor.deferral import TaskDeferred, Timeout, Trigger


class BaseOperator:
    """A task in several steps: `execute`, and a method for each deferral to come back to.

    A resume makes a new instance with the same arguments: only `method_name` and `kwargs` cross the wait.
    """

    def __init__(self, *, task_id: str | None = None) -> None:
        self.task_id = task_id

    def execute(self, context: Context) -> Any:
        """The task's work; what it returns is the result."""
        raise NotImplementedError(f"{type(self).__name__} has no execute(context)")

    def defer(
        self,
        *,
        trigger: Trigger,
        method_name: str,
        kwargs: Mapping[str, Any] | None = None,
        timeout: Timeout = None,
        on_timeout: str | None = None,
    ) -> NoReturn:
        """Suspends the task; after the trigger fired, `method_name(context, event=..., **kwargs)` runs in a new pod.

        As in Airflow the method must take `event`, and `execute`, where it is the method to come back to, too: what
        cannot be called so is refused before the wait. If the trigger has not fired within `timeout`,
        `on_timeout(context, **kwargs)` runs instead, or the task fails where no such method is named.
        """
        raise TaskDeferred(
            trigger=trigger, method_name=method_name, kwargs=kwargs, timeout=timeout, on_timeout=on_timeout
        )

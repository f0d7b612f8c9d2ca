"""`BaseOperator`: a task as a class, with the interface of Airflow's deferrable operators.

It is optional: a workflow may name any class that has `execute(context)`.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from torpor.context import Context
from torpor.deferral import SerializableTrigger, TaskDeferred, Timeout


class BaseOperator:
    """A task as a class: `execute`, and one method for each deferral to resume in.

        class Train(BaseOperator):
            def execute(self, context):
                job = submit()
                self.defer(trigger=Http(job.url), method_name="done", kwargs={"job": job.id}, timeout="6h")

            def done(self, context, event, job):
                return fetch(job)

    Each resume creates a new instance with the same arguments. Only `method_name` and `kwargs` survive a deferral.
    """

    def __init__(self, *, task_id: str | None = None) -> None:
        self.task_id = task_id

    def execute(self, context: Context) -> Any:
        """Do the work of the task and return its result, a JSON value. Subclasses implement it."""
        raise NotImplementedError(f"{type(self).__name__} has no execute(context)")

    def pre_execute(self, context: Context) -> Any:
        """Called before `execute`, and before each method that resumes."""

    def post_execute(self, context: Context, result: Any = None) -> Any:
        """Called with the result of `execute` or of the method that resumes, unless it deferred or raised."""

    def on_kill(self) -> None:
        """Called when the pod is stopped: by a cancellation, a timeout, or an eviction. Stop jobs in other systems.

        `execute` ends before, by an exception at its present line. The pod ends ten seconds after the request to stop.
        """

    def defer(
        self,
        *,
        trigger: SerializableTrigger,
        method_name: str,
        kwargs: Mapping[str, Any] | None = None,
        timeout: Timeout = None,
        on_timeout: str | None = None,
    ) -> NoReturn:
        """Suspend the task. When the trigger fires, `method_name(context, event=..., **kwargs)` runs in a new pod.

        Args:
            trigger: What to wait for.
            method_name: The method that resumes. It must accept `event`, also if it is `execute`.
            kwargs: JSON values for that method, up to 4 kB.
            timeout: A timedelta, seconds, or text such as `6h`. Without it, only the timeout of the task applies.
            on_timeout: The method that resumes instead if the trigger does not fire in time: `on_timeout(context,
                **kwargs)`. Without it, the task fails with reason DeferralTimeout.

        Raises:
            TaskDeferred: Always. The runtime checks the methods and their arguments before it stores the deferral.
        """
        raise TaskDeferred(
            trigger=trigger, method_name=method_name, kwargs=kwargs, timeout=timeout, on_timeout=on_timeout
        )

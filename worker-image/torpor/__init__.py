"""What task authors import: `from torpor import task, defer, context, TaskDeferred, BaseOperator, TaskFailed`.

A task pod imports this before the user's code, so it imports little: the standard library's light modules and
`torpor_wire`. The built-in triggers are in `torpor.triggers`, the runner for unit tests in `torpor.testing`.
"""

from torpor.deferral import Deferral, DeferralError, TaskDeferred, defer
from torpor.errors import TaskFailed
from torpor.execution import Context, context
from torpor.operators import BaseOperator
from torpor.tasks import task

__all__ = [
    "BaseOperator",
    "Context",
    "Deferral",
    "DeferralError",
    "TaskDeferred",
    "TaskFailed",
    "context",
    "defer",
    "task",
]

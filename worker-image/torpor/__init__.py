"""The SDK for task authors, the runtime of task pods, and the built-in triggers.

Authors import names of this module: `from torpor import task, defer, context, BaseOperator, TaskFailed`. The built-in
triggers are in `torpor.triggers`, the test runner in `torpor.testing`. A task pod imports this package before the
user's code, so it imports little: `Results`, references and the sensors are loaded on first use.
"""

from typing import TYPE_CHECKING, Any

from torpor.context import Context, context
from torpor.decorators import task
from torpor.deferral import Deferral, DeferralError, TaskDeferred, defer
from torpor.errors import TaskFailed, TaskSkipped
from torpor.operators import BaseOperator

if TYPE_CHECKING:
    from torpor_wire.secret_ref import ConfigMapRef, SecretRef

    from torpor.results import Results
    from torpor.sensors import BaseSensor, PokeResult

__all__ = [
    "BaseOperator",
    "BaseSensor",
    "ConfigMapRef",
    "Context",
    "Deferral",
    "DeferralError",
    "PokeResult",
    "Results",
    "SecretRef",
    "TaskDeferred",
    "TaskFailed",
    "TaskSkipped",
    "context",
    "defer",
    "task",
]


def __getattr__(name: str) -> Any:
    if name == "Results":
        from torpor.results import Results  # noqa: PLC0415 - imported on first use

        return Results
    if name in {"ConfigMapRef", "SecretRef"}:
        from torpor_wire import secret_ref  # noqa: PLC0415 - imported on first use

        return getattr(secret_ref, name)
    if name not in {"BaseSensor", "PokeResult"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torpor import sensors  # noqa: PLC0415 - imported on first use

    return getattr(sensors, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

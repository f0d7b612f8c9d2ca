"""What the lifecycle of runs needs; the application builds it."""

from collections.abc import Callable
from dataclasses import dataclass

from torpor_kubernetes.timing import Clock

from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Outcome
from torpor_triggerer.reporting.events import EventRecorder
from torpor_triggerer.running.admission import Admission
from torpor_triggerer.running.completion import Completion
from torpor_triggerer.running.state import Spawn
from torpor_triggerer.services.trigger_services import TriggerServices
from torpor_triggerer.usercode.invoke import TriggerHost
from torpor_triggerer.usercode.registry import Registry


def unanswered(_: TriggerWait) -> Outcome | None:
    """Every wait runs its trigger."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """One for a process. `answer` ends a wait at once, in place of its trigger."""

    registry: Registry
    admission: Admission
    completion: Completion
    events: EventRecorder
    trigger_log: TriggerLog
    clock: Clock
    host: TriggerHost
    services_for: Callable[[TriggerWait], TriggerServices]
    spawn: Spawn
    answer: Callable[[TriggerWait], Outcome | None] = unanswered

"""What a wait needs before its trigger may start: permission to fire in its namespace, and its secrets."""

from dataclasses import dataclass
from functools import partial

from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Failed
from torpor_triggerer.reporting.events import EventRecorder
from torpor_triggerer.reporting.fire_permission import FirePermission
from torpor_triggerer.running.state import WaitRun
from torpor_triggerer.secrets import resolver
from torpor_triggerer.secrets.reader import MissingSecret
from torpor_triggerer.secrets.resolver import Resolved, SecretResolver
from torpor_triggerer.usercode.validation import TriggerInvocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """One for a process."""

    permission: FirePermission
    secrets: SecretResolver
    events: EventRecorder
    clock: Clock

    def is_immediate(self, wait: TriggerWait, call: TriggerInvocation) -> bool:
        """Whether the trigger can start without a request to the API server."""
        return self.permission.is_granted(wait.namespace) and not resolver.has_secrets(call.kwargs)

    async def resolve(self, run: WaitRun, call: TriggerInvocation) -> Resolved | MissingSecret | Failed:
        """Wait for the permission, then for the secrets. Missing only if the wait was cancelled meanwhile."""
        await self.permission.wait_until_granted(run.packed.namespace, partial(self._on_denied, run))
        on_missing = partial(setattr, run, "missing")
        return await self.secrets.resolve_when_available(run.wait, call, self.clock, on_missing)

    def _on_denied(self, run: WaitRun, message: str, is_final: bool) -> None:
        """Record one Event: a triggerer that may not fire may not write the TaskRun's status either."""
        if is_final and run.missing != message:
            self.events.warning(run.wait, Reason.FIRE_FORBIDDEN, message)
        run.missing = message if is_final else f"retrying: {message}"

"""The value of a valid deferral, and what its preparation needs from the pod.

Every task pod imports it. `deferral`, which validates and prepares, is imported only by pods that defer.
"""

from typing import TYPE_CHECKING, NamedTuple

from torpor_wire import canonical, constants

if TYPE_CHECKING:
    from torpor_wire.trigger import DeferredTrigger


class Suspension(NamedTuple):
    """A valid deferral.

    `state` is JSON text, `timeout` is in seconds, `method` and `on_timeout` are where it resumes.
    """

    trigger: "DeferredTrigger"
    method: str
    state: str
    timeout: float | None
    on_timeout: str | None = None
    timeout_is_final: bool = False

    def on_status(self) -> dict[str, canonical.Json]:
        """Return the value of `status.next`."""
        late: dict[str, canonical.Json] = {} if self.on_timeout is None else {"onTimeout": self.on_timeout}
        final: dict[str, canonical.Json] = {"timeoutIsFinal": True} if self.timeout_is_final else {}
        return {"method": self.method, "kwargs": self.state, **late, **final}


class DeferralContext(NamedTuple):
    """The context of a deferral: parts of the key of its trigger, the start of durations, the sealing key."""

    namespace: str
    pool: str
    now: float
    account: str = constants.TASK_ACCOUNT
    taskrun: str = ""
    seal_key: str | None = None

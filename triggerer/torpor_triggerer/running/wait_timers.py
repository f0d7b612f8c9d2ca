"""The timers of waits. A run has one at most: for its moment, for its deadline, or for the end of its trigger."""

from collections.abc import Callable

from torpor_kubernetes.timing import Clock

from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.running.state import Due, Timed, WaitRun
from torpor_triggerer.timers import Timers
from torpor_triggerer.usercode import invoke


class WaitTimers:
    """The timers of all waits of this process.

    `on_timer` gets what a timer is for when it expires. `on_timed` gets a run that needs nothing but its timer.
    """

    def __init__(
        self,
        clock: Clock,
        look_seconds: float,
        *,
        on_timer: Callable[[Timed], None],
        on_timed: Callable[[WaitRun], None],
    ) -> None:
        self.timers: Timers[Timed] = Timers(clock, on_timer)
        self._clock = clock
        self._look_seconds = look_seconds
        self._on_timed = on_timed

    def discard(self, run: WaitRun) -> None:
        """Remove the timer of a run, if it has one."""
        if run.timer is not None:
            self.timers.discard(run.timer)

    def set_deadline(self, run: WaitRun, wait: TriggerWait) -> None:
        """Set the timer of a run for the deadline of its wait, if it has one."""
        deadline = self._deadline(wait)
        if deadline is not None:
            run.timer = self.timers.add(deadline, (run, Due.DEADLINE))

    def set_moment(self, run: WaitRun, due: float) -> None:
        """Set the timer of a trigger that knows its moment: for the run, or without one for the wait alone."""
        fires = run.timer is None or due <= run.timer.moment
        moment = due if run.timer is None else min(due, run.timer.moment)
        run.timed = run.wait_log.is_empty and invoke.can_be_made_again(run.trigger)
        if not fires and not run.timed:
            return
        self.discard(run)
        run.timer = self.timers.add(moment, run.packed if run.timed else (run, Due.PAYLOAD))
        if run.timed:
            self._on_timed(run)

    def set_end_limit(self, run: WaitRun, seconds: float) -> None:
        """Set the timer of a run whose trigger is stopping."""
        run.timer = self.timers.add(self._clock.now() + seconds, (run, Due.GIVE_UP))

    def _deadline(self, wait: TriggerWait) -> float | None:
        """The deadline. A wait taken over after its deadline gets `look_seconds` for one last look."""
        now = self._clock.now()
        if wait.deadline is None or wait.deadline > now:
            return wait.deadline
        return now + self._look_seconds

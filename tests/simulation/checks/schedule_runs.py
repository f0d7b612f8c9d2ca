"""S1, S3, S4 and S5: what a Schedule starts, and when."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torpor_local.apiserver.history import Object
from torpor_operator.schedules.plan import cron_source

from tests.simulation.checks import schedule_state
from tests.simulation.checks.schedule_state import ScheduleState
from tests.simulation.process import EPOCH

Expect = Callable[[str, bool, str], None]
_CLOCKS = 7.0
"""Seconds by which the clocks of two processes differ at most."""
_SENT = 5.0
"""Seconds that the jitter and the request of an event take at most."""
_SEEN = 1.0
"""Seconds after which a leader without delays acts on a change."""


@dataclass(slots=True, kw_only=True)
class Runs:
    """The runs of all Schedules. `prompt`: no fault delays what the operator sees, or what it writes."""

    expect: Expect
    prompt: bool
    late: bool
    uids: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)  # by Schedule, source, event: the uids
    open: dict[str, dict[str, Object]] = field(default_factory=dict)  # by Schedule, by uid of the run
    created: dict[str, float] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)  # by a person
    reopened: set[str] = field(default_factory=set)

    def has_run(self, uid: str, source: str, text: str) -> bool:
        """Whether a run of the event was created."""
        return (uid, source, text) in self.uids

    def create(self, state: ScheduleState, run: Object, now: float) -> None:
        """Check a run that the operator creates."""
        uid, name = run["spec"]["runOf"]["uid"], run["metadata"]["name"]
        self.created[run["metadata"]["uid"]] = now
        for source, text in schedule_state.texts(run) if not schedule_state.is_manual(run) else ():
            self._check_event(state, uid, source, text, name)
            self.uids.setdefault((uid, source, text), []).append(run["metadata"]["uid"])
        self._note(uid, run)
        if not schedule_state.is_manual(run):
            self._check_suspended(state, run, now)
            self._check_tick(state, run)
        if not schedule_state.is_queued(run):
            self._begin(state, uid, run, now)

    def change(self, state: ScheduleState | None, writer: str, before: Object, after: Object, now: float) -> None:
        """Check a change of a run."""
        uid = after["spec"]["runOf"]["uid"]
        if "completionTime" in before.get("status", {}) and "completionTime" not in after.get("status", {}):
            self.reopened.add(after["metadata"]["uid"])
        self._note(uid, after)
        started = schedule_state.is_queued(before) and not schedule_state.is_queued(after)
        if started and state is not None and writer == "operator" and schedule_state.is_open(after):
            self._begin(state, uid, after, now)
            self._check_suspended(state, after, now)

    def drop(self, writer: str, run: Object) -> None:
        """Note a run that is deleted."""
        if writer == "person":
            self.deleted.add(run["metadata"]["uid"])
        self.open.get(run["spec"]["runOf"]["uid"], {}).pop(run["metadata"]["uid"], None)

    def _note(self, schedule: str, run: Object) -> None:
        runs = self.open.setdefault(schedule, {})
        uid = run["metadata"]["uid"]
        if schedule_state.is_open(run) and uid not in self.reopened:
            runs[uid] = run
        else:
            runs.pop(uid, None)

    def _check_event(self, state: ScheduleState, uid: str, source: str, text: str, name: str) -> None:
        fired = any(event.source == source and event.text == text for event in state.fired.values())
        self.expect("S1", fired, f"{name} is created for {text} of {source}, which never fired")
        former = self.uids.get((uid, source, text), [])
        excused = source in state.touched or self.late or any(run_name in self.deleted for run_name in former)
        self.expect("S1", not former or excused, f"{name} is the second run for {text} of {source}")

    def _begin(self, state: ScheduleState, uid: str, run: Object, now: float) -> None:
        """Check a run that becomes active."""
        name, specs = run["metadata"]["name"], state.recent(now)
        runs = self.open.get(uid, {}).values()
        if schedule_state.is_manual(run) or self.late:
            return
        active = [
            other["metadata"]["name"]
            for other in runs
            if not schedule_state.is_queued(other) and not schedule_state.is_manual(other)
        ]
        most = max(map(schedule_state.max_active, specs))
        self.expect("S3", len(active) <= most, f"{name} starts: {active} are active, maxActive is {most:g}")
        if most == 1:
            self._check_order(run, [run_ for run_ in runs if schedule_state.is_queued(run_)], name, now)
        if self._tick(state, run) is not None:
            self._check_age(state, run, specs)

    def _check_order(self, run: Object, queued: list[Object], name: str, now: float) -> None:
        at = run["spec"]["runOf"]["at"]
        before = [
            other["metadata"]["name"]
            for other in queued
            if other["spec"]["runOf"]["at"] < at and self.created[other["metadata"]["uid"]] < now - _SEEN
        ]
        self.expect("S4", not before, f"{name} starts before {before}, which are queued for earlier events")

    def _check_suspended(self, state: ScheduleState, run: Object, now: float) -> None:
        """A leader may have decided a moment before; with delays, long before."""
        moment, spec = state.specs[-1]
        since = next((at for at, past in reversed(state.specs) if not past.get("suspend")), moment)
        starts = [at for at, past in state.specs if past.get("suspend") and at >= since]
        name = run["metadata"]["name"]
        known = bool(spec.get("suspend") and state.status.get("suspended"))
        self.expect("S5", not known or self.late, f"{name} starts, though its Schedule is suspended")
        if spec.get("suspend") and starts and self.prompt:
            self.expect("S5", now - starts[0] < _SEEN, f"{name} starts {now - starts[0]:.1f} s after the suspension")

    def _check_tick(self, state: ScheduleState, run: Object) -> None:
        """The ticks of a suspension do not run after it."""
        tick = self._tick(state, run)
        if tick is not None:
            description = f"{run['metadata']['name']} is for the tick {tick - EPOCH:g} of a suspension"
            self.expect("S5", not state.in_suspension(tick), description)

    def _tick(self, state: ScheduleState, run: Object) -> float | None:
        source = run["spec"]["runOf"].get("source")
        body = state.source(source) if source else None
        created = self.created.get(run["metadata"]["uid"])
        return schedule_state.epoch(run["spec"]["runOf"]["at"]) if body and "cron" in body and created else None

    def _check_age(self, state: ScheduleState, run: Object, specs: list[Object]) -> None:
        """S2: a tick that fires later than the policy allows does not run. One that fired in time may wait for room."""
        most = max(map(_longest, specs))
        ((source, text),) = schedule_state.texts(run)
        event = next(fired for fired in state.fired.values() if fired.source == source and fired.text == text)
        age = EPOCH + event.moment - (event.tick or 0.0)
        description = f"{run['metadata']['name']} starts, {age:.1f} s after its tick it fired, later than {most:g} s"
        self.expect("S2", age < most + _CLOCKS + _SENT, description)


def _longest(spec: Object) -> float:
    """How late a tick may fire that runs."""
    policy = spec.get("missed", {})
    within = schedule_state.seconds(policy.get("within", "1h"))
    return cron_source.GRACE if policy.get("run") == "None" else max(cron_source.GRACE, within)

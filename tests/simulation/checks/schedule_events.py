"""S1 and S2: each event of a source has one outcome, and no tick is lost.

An event is committed by a triggerer. Its outcome is stored in the status of the Schedule, and the source is armed again
after that.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torpor_local.apiserver.history import Object
from torpor_operator.schedules.plan import cron_source
from torpor_wire.state import State

from tests.simulation.checks import schedule_state
from tests.simulation.checks.schedule_state import EventKey, FiredEvent, ScheduleState
from tests.simulation.process import EPOCH, Process

_CLOCKS = 7.0
"""Seconds by which the clocks of two processes differ at most."""
_WITHIN = "1h"
Expect = Callable[[str, bool, str], None]


def source_changed(
    state: ScheduleState, writer: Process, before: Object | None, after: Object | None, expect: Expect
) -> None:
    """Check a change of a source's TaskRun."""
    if before is None:
        return
    key, name = _key(before), before["spec"]["task"]
    unhandled = key in state.fired and not state.fired[key].outcome and _waits(before)
    gone = after is None or "deletionTimestamp" in after["metadata"]
    if gone and writer.kind == "person":
        state.touched.add(name)
    elif gone and writer.kind == "operator":
        removed = state.source(name) is None
        expect("S1", not unhandled or removed or state.deleting, f"{state.name}/{name}: deleted with an event: {key}")
    elif after is not None and _waits(before) and after["status"]["state"] == State.DEFERRED:
        expect("S1", not unhandled, f"{state.name}/{name}: armed before the outcome of {key} is stored")
        _check_position(state, name, after, expect)


def fired(state: ScheduleState, run: Object, moment: float, expect: Expect) -> None:
    """Note an event that a triggerer commits."""
    key, status = _key(run), run["status"]
    if status.get("event") is None:
        return
    event = json.loads(status["event"])
    name = run["spec"]["task"]
    expect("S1", key not in state.fired, f"{state.name}/{name}: {key} fires twice")
    state.fired[key] = FiredEvent(source=name, text=schedule_state.canonical(event), event=event, moment=moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A new status of a Schedule. `has_run` takes a source and an event."""

    state: ScheduleState
    status: Object
    now: float
    has_run: Callable[[str, str], bool]

    @property
    def missed(self) -> int:
        """How many ticks are missed beyond the former status."""
        return _missed(self.status) - _missed(self.state.status)

    @property
    def failed(self) -> set[str]:
        """Times of failed events."""
        return {event["at"] for event in self.status.get("failedEvents", ())}

    def sources(self) -> Iterator[tuple[str, Object, Object, FiredEvent | None]]:
        """Each source with its former status, its new one, and the event that is handled with it."""
        former = self.state.sources_status()
        for name, after in schedule_state.by_name(self.status).items():
            before = former.get(name) or {}
            fresh = _is_fresh(before, after)
            yield name, before, after, self.state.fired.get(EventKey(**after["handled"])) if fresh else None

    def passed(self) -> dict[str, set[float]]:
        """By source, the ticks between the former cursor and the present one that have no outcome yet.

        `missed` of them are missed. An event that is handled without a run may be one of these, or was skipped.
        """
        due_by_source: dict[str, set[float]] = {}
        skipped: list[tuple[float, str]] = []
        for name, before, after, event in self.sources():
            source = self.state.source(name)
            if source is None or "cron" not in source or after.get("cursor") in {before.get("cursor"), None}:
                continue
            begin = schedule_state.epoch(before["cursor"]) if "cursor" in before else self.state.created
            due = {
                tick for tick in schedule_state.ticks(source) if begin < tick <= schedule_state.epoch(after["cursor"])
            }
            due_by_source[name] = due - self.state.accounted.get(name, set())
            if event is None or event.tick is None or event.tick not in due_by_source[name]:
                continue
            if self.has_run(name, event.text):
                due_by_source[name].discard(event.tick)
            else:
                skipped.append((event.tick, name))
        for tick, name in sorted(skipped, reverse=True)[: max(0, sum(map(len, due_by_source.values())) - self.missed)]:
            due_by_source[name].discard(tick)
        return due_by_source


def status_changed(commit: Commit, expect: Expect) -> None:
    """Check the outcomes that a status contains beyond the former one."""
    state, passed = commit.state, commit.passed()
    for name, before, after, fired_event in commit.sources():
        if _is_fresh(before, after):
            expect("S1", fired_event is not None, f"{state.name}/{name}: {after['handled']} is handled and never fired")
        if fired_event is None:
            continue
        expect("S1", not fired_event.outcome, f"{state.name}/{name}: {fired_event.text} is handled twice")
        fired_event.outcome = _outcome(commit, fired_event, after, passed=fired_event.tick in passed.get(name, ()))
        description = f"{state.name}/{name}: {fired_event.text} has neither a run nor a reason for none"
        expect("S1", fired_event.outcome != "lost", description)
        if fired_event.tick is not None and fired_event.outcome != "missed":
            state.accounted.setdefault(name, set()).add(fired_event.tick)
    if commit.missed:
        _check_missed(commit, passed, expect)
    else:
        _check_jumps(state, passed, commit.now, expect)
    state.status = commit.status


def check_ticks(state: ScheduleState, now: float, expect: Expect) -> None:
    """S2 at the end: each tick since the last edit or resumption has an outcome or was counted as missed."""
    for name, lost in open_ticks(state, now).items():
        expect("S2", not lost, f"{state.name}/{name}: the ticks {lost} have no outcome")


def open_ticks(state: ScheduleState, now: float) -> dict[str, list[float]]:
    """The ticks without an outcome since the last edit or resumption, by source, in seconds of the simulation."""
    unaccounted: dict[str, list[float]] = {}
    for source in state.spec["sources"]:
        if "cron" not in source or source["name"] in state.touched:
            continue
        # The cursor of an edit is by the operator's clock, which may be slow.
        begin = max(state.begin.get(source["name"], state.created), state.edited(source["name"]))
        due = [tick for tick in schedule_state.ticks(source) if begin < tick < now - _CLOCKS - 5.0]
        unaccounted[source["name"]] = [
            tick - EPOCH for tick in due if tick not in state.accounted.get(source["name"], ())
        ]
    return unaccounted


def check_log(state: ScheduleState, length: dict[str, int], expect: Expect) -> None:
    """S1 at the end: each item of each log has an outcome, in order."""
    for source in state.spec["sources"]:
        if source.get("trigger", {}).get("class") != "log":
            continue
        name, log = source["name"], source["trigger"]["kwargs"]["log"]
        numbers = [fired.event["number"] for fired in state.fired.values() if fired.source == name]
        wanted = list(range(1, length[log] + 1))
        if name in state.touched:
            expect("S1", sorted(set(numbers)) == wanted, f"{state.name}/{name}: fired {numbers} of {wanted}")
            continue
        expect("S1", numbers == wanted, f"{state.name}/{name}: fired {numbers} of {wanted}")
        open_ = [fired.text for fired in state.fired.values() if fired.source == name and not fired.outcome]
        expect("S1", not open_, f"{state.name}/{name}: {open_} have no outcome")


def _is_fresh(before: Object, after: Object) -> bool:
    return "handled" in after and after["handled"] != before.get("handled")


def _outcome(commit: Commit, fired_event: FiredEvent, after: Object, *, passed: bool) -> str:
    """What became of an event."""
    state, specs = commit.state, commit.state.recent(commit.now)
    if commit.has_run(fired_event.source, fired_event.text):
        return "run"
    if passed or (fired_event.tick is not None and fired_event.tick <= state.begin.get(fired_event.source, 0.0)):
        return "missed"
    if any(fired_event.source in spec.get("allOf", ()) for spec in specs):
        return "joined" if after.get("pending") else "lost"
    if any(spec.get("concurrencyPolicy") == "Forbid" for spec in specs):
        return "skipped"
    if fired_event.tick in state.occupied and after["last"] in commit.failed:
        return "failed"
    if any("when" in spec for spec in specs) and fired_event.event["number"] % 3 == 0:
        return "skipped"
    if any("params" in spec for spec in specs) and not fired_event.event["list"]:
        return "failed"
    return "lost"


def _check_missed(commit: Commit, passed: dict[str, set[float]], expect: Expect) -> None:
    """S2: only ticks that the policy passes over are counted as missed."""
    state, now, delta = commit.state, commit.now, commit.missed
    count = sum(map(len, passed.values()))
    expect("S2", count == delta, f"{state.name}: {delta} ticks are missed, {count} were passed over")
    least = min(_grace(spec) for spec in state.recent(now))
    for name, due in passed.items():
        inside = [tick - EPOCH for tick in due if state.in_suspension(tick)]
        expect("S2", not inside, f"{state.name}/{name}: the ticks {inside} of a suspension are missed")
        state.accounted.setdefault(name, set()).update(due)
        young = [tick - EPOCH for tick in due if EPOCH + now - tick < least - _CLOCKS]
        expect("S2", not young, f"{state.name}/{name}: the ticks {young} are missed, younger than {least} s")


def _check_jumps(state: ScheduleState, passed: dict[str, set[float]], now: float, expect: Expect) -> None:
    """S2: a cursor passes over ticks without counting them only by a suspension or an edit of the sources."""
    specs = state.recent(now)
    edited = any(spec.get("suspend") or spec["sources"] != state.spec["sources"] for spec in specs)
    for name, due in passed.items():
        expect("S2", not due or edited, f"{state.name}/{name}: the ticks {sorted(due)} are passed over and not counted")


def _grace(spec: Object) -> float:
    policy = spec.get("missed", {})
    within = schedule_state.seconds(policy.get("within", _WITHIN))
    return max(cron_source.GRACE, within) if policy.get("run") == "All" else cron_source.GRACE


def _check_position(state: ScheduleState, name: str, run: Object, expect: Expect) -> None:
    trigger = run["status"]["trigger"]
    if trigger["class"] != "log":
        return
    stored = state.sources_status().get(name, {}).get("cursor", "0")
    armed = json.loads(trigger["kwargs"])["cursor"]
    expect("S1", armed == stored, f"{state.name}/{name}: armed at {armed}, the stored cursor is {stored}")


def _waits(run: Object) -> bool:
    return run["status"]["state"] == State.SCHEDULED and run["status"].get("event") is not None


def _key(run: Object) -> EventKey:
    status = run["status"]
    return EventKey(run["metadata"]["uid"], status["attempt"], status["segment"])


def _missed(status: Object) -> int:
    return int(status.get("missed", {}).get("count", 0))

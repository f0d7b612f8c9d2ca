"""S1 and S2: each event of a source has one outcome, and no tick is lost.

An event is committed by a triggerer. Its outcome is stored in the status of the Schedule, and the source is armed again
after that.
"""

import json
from collections.abc import Callable

from torpor_operator.schedules import missed
from torpor_wire.state import State as TaskState

from tests.simulation.checks import schedule_state
from tests.simulation.checks.schedule_state import EventKey, Fired, State
from tests.simulation.process import EPOCH, Process
from tests.support.fake_api.history import Object

_CLOCKS = 7.0
"""Seconds by which the clocks of two processes differ at most."""
_WITHIN = "1h"
Expect = Callable[[str, bool, str], None]


def source_changed(state: State, writer: Process, before: Object | None, after: Object | None, expect: Expect) -> None:
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
    elif after is not None and _waits(before) and after["status"]["state"] == TaskState.DEFERRED:
        expect("S1", not unhandled, f"{state.name}/{name}: armed before the outcome of {key} is stored")
        _check_position(state, name, after, expect)


def fired(state: State, run: Object, moment: float, expect: Expect) -> None:
    """Note an event that a triggerer commits."""
    key, status = _key(run), run["status"]
    if status.get("event") is None:
        return
    event = json.loads(status["event"])
    name = run["spec"]["task"]
    expect("S1", key not in state.fired, f"{state.name}/{name}: {key} fires twice")
    state.fired[key] = Fired(source=name, text=schedule_state.canonical(event), event=event, moment=moment)


def status_changed(
    state: State, status: Object, now: float, has_run: Callable[[str, str], bool], expect: Expect
) -> None:
    """Check the outcomes that a status contains beyond the former one. `has_run` takes a source and an event."""
    former, current = schedule_state.by_name(state.status), schedule_state.by_name(status)
    delta = _missed(status) - _missed(state.status)
    passed = _passed(state, former, current, has_run, delta)
    for name, after in current.items():
        handled = after.get("handled")
        if handled is None or handled == (former.get(name) or {}).get("handled"):
            continue
        key = EventKey(handled["uid"], handled["attempt"], handled["segment"])
        found = state.fired.get(key)
        expect("S1", found is not None, f"{state.name}/{name}: {key} is handled and never fired")
        if found is not None:
            expect("S1", not found.outcome, f"{state.name}/{name}: {key} is handled twice")
            found.outcome = _outcome(state, found, after, now, has_run, passed=found.tick in passed.get(name, ()))
            description = f"{state.name}/{name}: {found.text} has neither a run nor a reason for none"
            expect("S1", found.outcome != "lost", description)
            if found.tick is not None and found.outcome != "missed":
                state.accounted.setdefault(name, set()).add(found.tick)
    if delta:
        _check_missed(state, passed, delta, now, expect)
    else:
        _check_jumps(state, passed, now, expect)
    state.status = status


def check_ticks(state: State, now: float, expect: Expect) -> None:
    """S2 at the end: each tick since the last edit or resumption has an outcome or was counted as missed."""
    for source in state.spec["sources"]:
        if "cron" not in source or source["name"] in state.touched:
            continue
        begin = state.begin.get(source["name"], state.created)
        due = [one for one in schedule_state.ticks(source) if begin < one < now - _CLOCKS - 5.0]
        lost = [one - EPOCH for one in due if one not in state.accounted.get(source["name"], ())]
        expect("S2", not lost, f"{state.name}/{source['name']}: the ticks {lost} have no outcome")


def check_log(state: State, length: dict[str, int], expect: Expect) -> None:
    """S1 at the end: each item of each log has an outcome, in order."""
    for source in state.spec["sources"]:
        if source.get("trigger", {}).get("class") != "log":
            continue
        name, log = source["name"], source["trigger"]["kwargs"]["log"]
        numbers = [one.event["number"] for one in state.fired.values() if one.source == name]
        wanted = list(range(1, length[log] + 1))
        if name in state.touched:
            expect("S1", sorted(set(numbers)) == wanted, f"{state.name}/{name}: fired {numbers} of {wanted}")
            continue
        expect("S1", numbers == wanted, f"{state.name}/{name}: fired {numbers} of {wanted}")
        open_ = [one.text for one in state.fired.values() if one.source == name and not one.outcome]
        expect("S1", not open_, f"{state.name}/{name}: {open_} have no outcome")


def _outcome(  # noqa: PLR0911 - an outcome each
    state: State, found: Fired, after: Object, now: float, has_run: Callable[[str, str], bool], *, passed: bool
) -> str:
    """What became of an event."""
    specs = state.recent(now)
    if has_run(found.source, found.text):
        return "run"
    if passed or (found.tick is not None and found.tick <= state.begin.get(found.source, 0.0)):
        return "missed"
    if any(found.source in spec.get("allOf", ()) for spec in specs):
        return "joined" if after.get("pending") else "lost"
    if any(spec.get("concurrencyPolicy") == "Forbid" for spec in specs):
        return "skipped"
    if any("when" in spec for spec in specs) and found.event["number"] % 3 == 0:
        return "skipped"
    if any("params" in spec for spec in specs) and not found.event["list"]:
        return "failed"
    return "lost"


def _passed(
    state: State,
    former: dict[str, Object],
    current: dict[str, Object],
    has_run: Callable[[str, str], bool],
    delta: int,
) -> dict[str, set[float]]:
    """By source, the ticks between the former cursor and the present one that have no outcome yet.

    `delta` of them are missed. An event that is handled without a run may be one of these, or was skipped.
    """
    found: dict[str, set[float]] = {}
    skipped: list[tuple[float, str]] = []
    for name, after in current.items():
        source = state.source(name)
        before = (former.get(name) or {}).get("cursor")
        if source is None or "cron" not in source or after.get("cursor") in {before, None}:
            continue
        begin, end = (state.created if before is None else schedule_state.epoch(before)), after["cursor"]
        due = {one for one in schedule_state.ticks(source) if begin < one <= schedule_state.epoch(end)}
        handled = after.get("handled")
        found[name] = due - state.accounted.get(name, set())
        if handled is None or handled == (former.get(name) or {}).get("handled"):
            continue
        event = state.fired.get(EventKey(handled["uid"], handled["attempt"], handled["segment"]))
        tick = None if event is None else event.tick
        if event is not None and tick in found[name] and has_run(name, event.text):
            found[name].discard(tick)
        elif tick in found[name] and tick is not None:
            skipped.append((tick, name))
    for tick, name in sorted(skipped, reverse=True)[: sum(map(len, found.values())) - delta]:
        found[name].discard(tick)
    return found


def _check_missed(state: State, passed: dict[str, set[float]], delta: int, now: float, expect: Expect) -> None:
    """S2: only ticks that the policy passes over are counted as missed."""
    count = sum(map(len, passed.values()))
    expect("S2", count == delta, f"{state.name}: {delta} ticks are missed, {count} were passed over")
    least = min(_grace(spec) for spec in state.recent(now))
    for name, due in passed.items():
        state.accounted.setdefault(name, set()).update(due)
        young = [one - EPOCH for one in due if EPOCH + now - one < least - _CLOCKS]
        expect("S2", not young, f"{state.name}/{name}: the ticks {young} are missed, younger than {least} s")


def _check_jumps(state: State, passed: dict[str, set[float]], now: float, expect: Expect) -> None:
    """S2: a cursor passes over ticks without counting them only by a suspension or an edit of the sources."""
    specs = state.recent(now)
    edited = any(spec.get("suspend") or spec["sources"] != state.spec["sources"] for spec in specs)
    for name, due in passed.items():
        expect("S2", not due or edited, f"{state.name}/{name}: the ticks {sorted(due)} are passed over and not counted")


def _grace(spec: Object) -> float:
    policy = spec.get("missed", {})
    within = schedule_state.seconds(policy.get("within", _WITHIN))
    return max(missed.GRACE, within) if policy.get("run") == "All" else missed.GRACE


def _check_position(state: State, name: str, run: Object, expect: Expect) -> None:
    trigger = run["status"]["trigger"]
    if trigger["class"] != "log":
        return
    stored = state.sources_status().get(name, {}).get("cursor", "0")
    armed = json.loads(trigger["kwargs"])["cursor"]
    expect("S1", armed == stored, f"{state.name}/{name}: armed at {armed}, the stored cursor is {stored}")


def _waits(run: Object) -> bool:
    return run["status"]["state"] == TaskState.SCHEDULED and run["status"].get("event") is not None


def _key(run: Object) -> EventKey:
    status = run["status"]
    return EventKey(run["metadata"]["uid"], status["attempt"], status["segment"])


def _missed(status: Object) -> int:
    return int(status.get("missed", {}).get("count", 0))

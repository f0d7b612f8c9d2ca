"""S1 to S6: what a Schedule promises. Checked at each commit, and when the simulation is quiet."""

from functools import partial
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.simulation.actors.sources import Logs
from tests.simulation.checks import schedule_events, schedule_state
from tests.simulation.checks.schedule_runs import Runs
from tests.simulation.checks.schedule_state import ScheduleState
from tests.simulation.process import EPOCH, Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

SCHEDULE_INVARIANTS = ("S1", "S2", "S3", "S4", "S5", "S6")
_DELAYS = frozenset({"late", "lag", "coalesce", "stale", "breaks", "pause", "errors", "dropped", "lost", "clocks"})
"""Faults that delay what the operator sees, or what it writes."""
_QUIET = 45.0
"""Seconds after which no log grows, and no bell rings."""


class ScheduleChecker:
    """One for a simulation."""

    def __init__(self, simulation: "Simulation") -> None:
        kinds = simulation.fault_profile.kinds
        self._scheduled = simulation.scheduled
        self._loop = simulation.loop
        self._history = simulation.fake.history
        self._expect = simulation.checker.expect
        self._states: dict[str, ScheduleState] = {}
        self._runs = Runs(expect=self._expect, prompt=not kinds & _DELAYS, late="late" in kinds)
        self._clocks = 7.0 if "clocks" in kinds else 0.5

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """Check one commit."""
        body = entry.after or entry.before or {}
        match entry.address.kind:
            case kind if kind == collection(SCHEDULES):
                self._schedule(writer, entry)
            case kind if kind == collection(TASKRUNS) and "schedule" in body["spec"]:
                self._source(writer, entry, body["spec"]["schedule"]["uid"])
            case kind if kind == collection(WORKFLOWS) and "runOf" in body["spec"]:
                self._run(writer, entry, body["spec"]["runOf"]["uid"])

    def occupy(self, schedule: Object, tick: float) -> None:
        """Note that a person has created a Workflow with the name of a tick's run."""
        self._states[schedule["metadata"]["uid"]].occupied.add(tick)

    def is_quiet(self) -> bool:
        """Whether each source waits for an event, and none will come."""
        last = [
            tick
            for state in self._present()
            for source in state.spec["sources"]
            for tick in schedule_state.ticks(source)
        ]
        if self._scheduled and self._loop.time() < max([_QUIET, *(tick - EPOCH + 15.0 for tick in last)]):
            return False
        return all(
            self.has_lost_run(state.name) or not (self._stuck(state) or self._unread(state))
            for state in self._present()
        )

    def check_end(self) -> None:
        """S1, S2 and S6, when the simulation is quiet or should be."""
        for state in self._present():
            if self.has_lost_run(state.name):
                continue
            stuck = self._stuck(state)
            self._expect("S6", not stuck, f"{state.name}: {stuck}")
            if not state.spec.get("suspend"):
                schedule_events.check_ticks(state, EPOCH + self._loop.time(), self._expect)
                schedule_events.check_log(state, Logs.length, self._expect)
        for state in self._states.values():
            if state.deleting and not self._runs.late:
                self._check_deleted(state)

    def _present(self) -> list[ScheduleState]:
        uids = [body["metadata"]["uid"] for body in self._history.of_kind(collection(SCHEDULES))]
        return [self._states[uid] for uid in uids]

    def _schedule(self, writer: Process, entry: ObjectChange) -> None:
        now = self._loop.time()
        if entry.after is None:
            return
        after = entry.after
        uid, spec = after["metadata"]["uid"], after["spec"]
        state = self._states.get(uid)
        if state is None:
            created = schedule_state.epoch(after["metadata"]["creationTimestamp"])
            state = self._states[uid] = ScheduleState(
                name=after["metadata"]["name"], spec=spec, created=created, clocks=self._clocks
            )
            state.specs.append((now, spec))
        state.deleting = "deletionTimestamp" in after["metadata"]
        if spec != state.spec:
            state.spec = spec
            state.specs.append((now, spec))
        status = after.get("status") or {}
        if state.suspensions and not spec.get("suspend"):
            begin, end = state.suspensions[-1]
            state.suspensions[-1] = [begin, min(end, now)]
        if status.get("suspended") and not state.status.get("suspended"):
            state.suspensions.append([now, float("inf") if spec.get("suspend") else now])
        if status != state.status:
            self._reset(state, status, after["metadata"]["generation"])
            has_run = partial(self._runs.has_run, uid)
            commit = schedule_events.Commit(state=state, status=status, now=now, has_run=has_run)
            schedule_events.status_changed(commit, self._expect)

    def _reset(self, state: ScheduleState, status: Object, generation: int) -> None:
        """Ticks count after a resumption and after an edit of the expression, which may come with the last event."""
        former = state.sources_status()
        counted = state.status.get("missed") != status.get("missed")
        for name, after in schedule_state.by_name(status).items():
            before, source = former.get(name) or {}, state.source(name)
            if source is None or "cron" not in source:
                continue
            is_edited = False
            if status.get("observedGeneration") == generation:
                is_edited = state.crons.get(name, source["cron"]) != source["cron"]
                state.crons[name] = source["cron"]
            moved = after.get("cursor") != before.get("cursor")
            if moved and not counted and (is_edited or after.get("handled") == before.get("handled")):
                state.begin[name] = schedule_state.epoch(after["cursor"])

    def _source(self, writer: Process, entry: ObjectChange, uid: str) -> None:
        state, before, after = self._states.get(uid), entry.before, entry.after
        if state is None:
            return
        schedule_events.source_changed(state, writer, before, after, self._expect)
        if before is None or after is None:
            return
        if before["status"]["state"] == State.DEFERRED and after["status"]["state"] == State.SCHEDULED:
            schedule_events.fired(state, after, self._loop.time(), self._expect)

    def _run(self, writer: Process, entry: ObjectChange, uid: str) -> None:
        state, now = self._states.get(uid), self._loop.time()
        if state is None:
            return
        if entry.after is None:
            self._runs.drop(writer.kind, entry.before or {})
        elif entry.before is None:
            self._runs.create(state, entry.after, now)
        else:
            if writer.kind == "person" and "deletionTimestamp" in entry.after["metadata"]:
                self._runs.deleted.add(entry.after["metadata"]["uid"])
            self._runs.change(state, writer.kind, entry.before, entry.after, now)

    def has_lost_run(self, schedule: str) -> bool:
        """Whether a run never ends, since its node never confirms that a pod has ended: events may wait for its end."""
        ours = [
            body["status"]
            for body in self._history.of_kind(collection(WORKFLOWS))
            if body["spec"].get("runOf", {}).get("schedule") == schedule and "status" in body
        ]
        return any(
            condition["reason"] == Reason.NODE_LOST
            for status in ours
            if "completionTime" not in status
            for condition in status.get("conditions", [])
        )

    def _stuck(self, state: ScheduleState) -> str:
        """Why a source is stuck; empty if none is."""
        if state.deleting:
            return "the Schedule is still being deleted"
        runs = {
            run["spec"]["task"]: run
            for run in self._history.of_kind(collection(TASKRUNS))
            if run["spec"].get("schedule", {}).get("name") == state.name
        }
        names = {source["name"] for source in state.spec["sources"]}
        if others := runs.keys() - names:
            return f"the TaskRuns of {sorted(others)} are left"
        wanted = {State.SCHEDULED} if state.spec.get("suspend") else {State.DEFERRED}
        for name in sorted(names):
            run = runs.get(name)
            if run is None and state.spec.get("suspend"):
                continue
            if run is None:
                return f"source {name} has no TaskRun"
            if run["status"]["state"] not in wanted:
                return f"source {name} is {run['status']['state']}: {run['status'].get('message', '')}"
        return ""

    def _unread(self, state: ScheduleState) -> bool:
        """Whether a log has items that have not fired, though they could, or a tick has no outcome yet."""
        if state.spec.get("suspend"):
            return False
        if any(schedule_events.open_ticks(state, EPOCH + self._loop.time()).values()):
            return True
        status = state.sources_status()
        return any(
            status.get(source["name"], {}).get("cursor", "0") != str(Logs.length[source["trigger"]["kwargs"]["log"]])
            for source in state.spec["sources"]
            if source.get("trigger", {}).get("class") == "log"
        )

    def _check_deleted(self, state: ScheduleState) -> None:
        """A deleted Schedule leaves no queued run, and none at all with `deletionPolicy: Delete`."""
        runs = [run for run in self._history.of_kind(collection(WORKFLOWS)) if "runOf" in run["spec"]]
        ours = [run for run in runs if run["spec"]["runOf"]["uid"] in self._states]
        left = [
            our["metadata"]["name"]
            for our in ours
            if self._states[our["spec"]["runOf"]["uid"]] is state
            and (state.spec.get("deletionPolicy") == "Delete" or schedule_state.is_queued(our))
        ]
        self._expect("S6", not left, f"{state.name} was deleted, and {left} are left")

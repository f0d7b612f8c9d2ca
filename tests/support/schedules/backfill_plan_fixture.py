"""A Backfill, its Schedule, and a cluster and an archive in memory that do what its plan asks for."""

from collections.abc import Mapping
from typing import Any

from torpor_crds.models import backfill as backfills
from torpor_crds.models import schedule as schedules
from torpor_crds.models import workflow as workflows
from torpor_crds.models.backfill import BackfillStatus
from torpor_crds.models.workflow import Workflow
from torpor_expressions.evaluator import evaluate_here
from torpor_operator.backfills.plan.planner import plan
from torpor_operator.backfills.plan.snapshot import BackfillSnapshot, KnownRun, TemporaryObstacle
from torpor_operator.model.actions import Evaluate, Need, Notice
from torpor_operator.model.snapshot import Answer
from torpor_wire import times

from tests.support.builders import NAMESPACE, Body

NOW = times.epoch("2026-06-01T12:00:00Z")
CRON: Body = {"name": "nightly", "cron": "0 2 * * *"}
TASKS: list[Body] = [{"name": "load", "python": "ingest:load"}]


class BackfillPlanFixture:
    """`settle` repeats passes until one changes nothing. `finish` ends runs."""

    def __init__(
        self,
        *sources: Body,
        schedule: Mapping[str, Any] | None = None,
        start: str = "2026-05-01T00:00:00Z",
        to: str = "2026-05-04T00:00:00Z",
        **spec: Any,
    ) -> None:
        self.now = NOW
        body = {"sources": list(sources or (CRON,)), "workflow": {"image": "i", "tasks": TASKS}}
        self.schedule: Body | None = {
            "metadata": {"name": "ingest", "namespace": NAMESPACE, "uid": "schedule-uid", "generation": 1},
            "spec": {**body, **(schedule or {})},
        }
        self.backfill: Body = {
            "metadata": self._metadata("may", "backfill-uid"),
            "spec": {"schedule": "ingest", "from": start, "to": to, **spec},
        }
        self.runs: dict[str, Body] = {}
        self.archived: dict[str, KnownRun] = {}
        self.templates: set[str] = set()
        self.rejects: dict[str, str] = {}  # by name of a run, or for all runs with the name *
        self.blocked: TemporaryObstacle | None = None
        self.created: list[str] = []  # names of runs, in the order of their creation
        self.looked_up: list[str] = []
        self.notices: list[Notice] = []
        self.most_active = 0
        self.passes = 0

    @property
    def status(self) -> BackfillStatus:
        return backfills.parse(self.backfill).status

    @property
    def condition(self) -> tuple[str, str, str]:
        """Status, reason and message of the condition Succeeded."""
        entry = next(condition for condition in self.status.conditions if condition.type == "Succeeded")
        return entry.status, entry.reason, entry.message

    def ticks(self, names: list[str] | None = None) -> list[str]:
        """The ticks of runs, by default of those that were created, in this order."""
        return [str(self.runs[name]["spec"]["runOf"]["at"])[:19] for name in names or self.created]

    def run(self, at: str, *, source: str = "nightly") -> list[Body]:
        """The runs of a tick, in the order of their creation."""
        origins = ((body, body["spec"]["runOf"]) for body in self.runs.values())
        return [body for body, origin in origins if (origin["source"], origin["at"]) == (source, at)]

    def settle(self) -> None:
        """Pass until nothing changes."""
        for _ in range(100_000):
            former = self.backfill.get("status")
            again = self.step()
            if self.backfill.get("status") == former and not again:
                return
        raise AssertionError("the Backfill does not settle")

    def step(self) -> bool:
        """One pass. Returns whether the next one follows at once."""
        self.passes += 1
        looked_up: dict[str, KnownRun | None] = {}
        rejected: dict[str, str] = {}
        known: dict[Need, Answer] = {}
        has_template: bool | None = None
        while True:
            decided = plan(
                BackfillSnapshot(
                    backfill=backfills.parse(self.backfill),
                    schedule=None if self.schedule is None else schedules.parse(self.schedule),
                    has_template=has_template,
                    runs=() if self.schedule is None else tuple(map(workflows.parse, self.runs.values())),
                    looked_up=looked_up,
                    rejected=rejected,
                    known=known,
                    blocked=self.blocked,
                    now=self.now,
                )
            )
            if decided.is_complete:
                break
            for body in decided.creates:
                self._create(body, rejected)
            self.looked_up += decided.lookups
            looked_up |= {name: self._find(name) for name in decided.lookups}
            if decided.template is not None:
                has_template = decided.template.name in self.templates
            for need in decided.needs:
                assert isinstance(need, Evaluate)
                known[need] = evaluate_here(need.expression, need.variables)
        stored = decided.status.to_json()
        if stored != self.backfill.get("status"):
            self.backfill["status"] = stored
            self.notices += decided.notices
        active = sum("completionTime" not in body.get("status", {}) for body in self._own())
        self.most_active = max(self.most_active, active)
        return decided.again_at == self.now

    def finish(self, *names: str, state: str = "Succeeded") -> None:
        """End runs, by default all active ones."""
        for body in self.runs.values():
            if (not names or body["metadata"]["name"] in names) and not body.get("status"):
                body["status"] = {"state": state, "completionTime": times.rfc3339(self.now)}

    def complete(self, *, state: str = "Succeeded") -> None:
        """Settle and end all active runs until the Backfill has ended."""
        for _ in range(100_000):
            self.settle()
            if self.status.completion_time is not None:
                return
            self.finish(state=state)
        raise AssertionError("the Backfill does not end")

    def archive(self, name: str) -> None:
        """Move an ended run from the cluster to the archive."""
        self.archived[name] = KnownRun.from_workflow(workflows.parse(self.runs.pop(name)))

    def add(self, at: str, name: str, *, state: str | None = None, source: str = "nightly", **origin: str) -> None:
        """A run that another writer has created for a tick."""
        self.runs[name] = {
            "metadata": self._metadata(name, f"{name}-uid"),
            "spec": {
                "tasks": TASKS,
                "runOf": {"schedule": "ingest", "uid": "schedule-uid", "source": source, "at": at, **origin},
            },
        }
        if state is not None:
            self.finish(name, state=state)

    def _own(self) -> list[Body]:
        name = self.backfill["metadata"]["name"]
        return [body for body in self.runs.values() if body["spec"]["runOf"].get("backfill") == name]

    def _create(self, body: Body, rejected: dict[str, str]) -> None:
        name = body["metadata"]["name"]
        reason = self.rejects.get(name) or self.rejects.get("*")
        if reason is not None:
            rejected[name] = reason
            return
        if name not in self.runs:
            self.created.append(name)
            self.runs[name] = {**body, "metadata": {**body["metadata"], **self._metadata(name, f"{name}-uid")}}

    def _find(self, name: str) -> KnownRun | None:
        run: Workflow | None = workflows.parse(self.runs[name]) if name in self.runs else None
        return KnownRun.from_workflow(run) if run is not None else self.archived.get(name)

    def _metadata(self, name: str, uid: str) -> Body:
        stamp = times.rfc3339(self.now).replace(".000Z", "Z")
        return {"name": name, "namespace": NAMESPACE, "uid": uid, "generation": 1, "creationTimestamp": stamp}

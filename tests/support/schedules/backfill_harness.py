"""The controllers of Schedules and Backfills with an API server in memory: Schedule `s`, Backfill `b`, three ticks."""

from typing import Any

from torpor_kubernetes.client.resources import BACKFILLS
from torpor_wire import names, times

from tests.support.builders import NAMESPACE, Body
from tests.support.schedules.harness import ScheduleHarness

NIGHTLY = {"name": "nightly", "cron": "0 2 * * *"}
START, TO = "2023-11-10T00:00:00Z", "2023-11-13T00:00:00Z"
TICKS = [f"2023-11-{day}T02:00:00.000Z" for day in (10, 11, 12)]


class BackfillHarness(ScheduleHarness):
    """`complete` ends the runs of the Backfill `b` until it has ended."""

    def create_backfill(self, *, start: str = START, to: str = TO, **spec: Any) -> None:
        """Create the Backfill."""
        metadata = {"name": "b", "namespace": NAMESPACE}
        self.fake.put(BACKFILLS, {"metadata": metadata, "spec": {"schedule": "s", "from": start, "to": to, **spec}})

    def edit_backfill(self, **spec: Any) -> None:
        """Change fields of its spec."""
        self.fake.edit(BACKFILLS, NAMESPACE, "b", {"spec": spec})

    @property
    def backfill(self) -> Body:
        """Its status."""
        status: Body = self.get(BACKFILLS, "b").get("status", {})
        return status

    @property
    def succeeded(self) -> tuple[str, str, str]:
        """Status, reason and message of its condition Succeeded."""
        condition = next(condition for condition in self.backfill["conditions"] if condition["type"] == "Succeeded")
        return condition["status"], condition["reason"], condition["message"]

    @property
    def ticks(self) -> list[str]:
        """The ticks that have a run, in their order."""
        return [run["spec"]["runOf"]["at"] for run in self.runs("s")]

    @property
    def active(self) -> list[str]:
        """The names of the active runs."""
        return [run["metadata"]["name"] for run in self.runs("s") if "completionTime" not in run.get("status", {})]

    def run_name(self, tick: str, *, source: str = "nightly") -> str:
        """The name of the run of a tick."""
        uid = self.schedule("s")["metadata"]["uid"]
        return names.run("s", names.tick_key(uid, source, times.epoch(tick)))

    def end_active(self) -> None:
        """End all active runs."""
        for run in self.active:
            self.end(run)

    async def complete(self) -> None:
        """End runs until the Backfill has ended."""
        for _ in range(300):
            self.end_active()
            await self.advance(1)
            if "completionTime" in self.backfill:
                return
        raise AssertionError(self.backfill)

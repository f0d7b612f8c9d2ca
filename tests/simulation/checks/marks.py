"""Checks marks: M1 a marked instance gets its mark, M2 it runs nothing, M3 nothing has a mark that nobody asked for."""

from typing import TYPE_CHECKING, Any

from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import ObjectChange, collection
from torpor_wire.instance_paths import Path

from tests.simulation.checks.workflow_shape import path_of
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

Object = dict[str, Any]
MARK_INVARIANTS = ("M1", "M2", "M3")


class MarkChecker:
    """Observes every commit."""

    def __init__(self, simulation: "Simulation") -> None:
        self._expect = simulation.checker.expect
        self._accepted: dict[tuple[str, int], tuple[str, set[tuple[str, Path]]]] = {}
        self._marked: set[str] = set()

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """One commit."""
        if entry.after is None:
            return
        match entry.address.kind:
            case kind if kind == collection(WORKFLOWS):
                self._workflow(entry.after)
            case kind if kind == collection(TASKRUNS) and "workflow" in entry.after["spec"]:
                if entry.before is None:
                    self._created(entry.after)
                self._changed(entry.after)
            case kind if kind == collection(PODS):
                owner = next((reference["uid"] for reference in entry.after["metadata"].get("ownerReferences", ())), "")
                self._expect("M2", owner not in self._marked, f"{entry.address.name} is a pod of a marked TaskRun")

    def _workflow(self, flow: Object) -> None:
        status = flow.get("status", {})
        request = (status.get("clearing") or {}).get("asked", "")
        if " because " in request:
            state, names, _ = request.split(" ", 2)
            named = {_instance(name) for name in names.split(",")}
            self._accepted[flow["metadata"]["uid"], status["clears"]] = (state.capitalize(), named)

    def _created(self, run: Object) -> None:
        """A TaskRun that was not there: of an accepted mark, or of none."""
        spec, name = run["spec"], run["metadata"]["name"]
        key = spec["workflow"]["uid"], spec.get("clears", 0)
        state, named = self._accepted.get(key, ("", set[tuple[str, Path]]()))
        wanted = state if (spec["task"], path_of(run)) in named else None
        has = spec.get("mark", {}).get("state")
        if wanted is not None:
            self._expect("M1", has == wanted, f"{name} should be marked {wanted}, and has {has}")
        if has is not None:
            self._marked.add(run["metadata"]["uid"])
            self._expect("M3", wanted is not None, f"{name} is marked {has} by nobody")

    def _changed(self, run: Object) -> None:
        mark, state = run["spec"].get("mark"), (run.get("status") or {}).get("state", "Scheduled")
        if mark is not None:
            allowed = {"Scheduled", "Cancelled", mark["state"]}
            self._expect("M2", state in allowed, f"{run['metadata']['name']} is marked {mark['state']} and {state}")


def _instance(name: str) -> tuple[str, Path]:
    task, _, path = name.partition("/")
    return task, tuple(map(int, path.split("."))) if path else ()

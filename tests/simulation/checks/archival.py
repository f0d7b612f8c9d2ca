"""I13: the operator deletes an ended pod after its log is settled, and a finished run after it is archived."""

from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import PODS, WORKFLOWS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_operator.workflows.plan import pod_retention

from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_GRACE = pod_retention.GRACE
_CLOCKS = 7.0
"""Seconds by which the clocks of two processes differ at most."""
_NOTICED = 1.0
_DELAYS = frozenset({"late", "lag", "coalesce", "stale", "breaks", "pause", "errors", "dropped"})
"""Faults that delay what the operator sees, or what it writes."""


class ArchivalChecker:
    """Observes what the operator deletes in a simulation with an archive."""

    def __init__(self, simulation: "Simulation") -> None:
        self._archive = simulation.archive
        self._loop = simulation.loop
        self._history = simulation.fake.history
        self._expect = simulation.checker.expect
        self._prompt = not simulation.fault_profile.kinds & _DELAYS

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """Check one commit."""
        before, after = entry.before, entry.after
        if not self._archive.installed or writer.kind != "operator" or before is None:
            return
        deleted = after is None or "deletionTimestamp" in after["metadata"]
        if not deleted or "deletionTimestamp" in before["metadata"]:
            return
        if entry.address.kind == collection(PODS):
            self._check_pod(before)
        if entry.address.kind == collection(WORKFLOWS):
            self._check_run(before)

    def _check_run(self, workflow: Object) -> None:
        name, uid = workflow["metadata"]["name"], workflow["metadata"]["uid"]
        stored = self._archive.runs.get(uid) == workflow["status"].get("completionTime")
        self._expect("I13", stored, f"{name} is deleted before it is archived")
        for pod in self._history.of_kind(collection(PODS)):
            if pod["metadata"]["labels"].get("torpor.dev/workflow") == name:
                self._check_pod(pod)

    def _check_pod(self, pod: Object) -> None:
        """A pod that still runs is not held, nor is one that has run nothing, or whose time is over.

        The operator may delete a pod as running, and learn of its end a moment later.
        """
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        waited = self._loop.time() - self._archive.ended_at.get(uid, self._loop.time())
        if not self._prompt or waited < _NOTICED or "containerStatuses" not in pod["status"]:
            return
        due = waited >= _GRACE - _CLOCKS
        self._expect("I13", due or self._archive.is_settled(uid), f"{name} is deleted before its log is settled")

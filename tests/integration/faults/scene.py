"""One run of the reference workflow in an installation, and what a disruption needs to know of it."""

from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

from torpor_wire.state import TERMINAL

from tests.integration.conftest import collection
from tests.integration.faults import reference
from tests.integration.faults.effects import wrong_effects
from tests.integration.faults.installation import ProcessInstallation, has_ended
from tests.support import run_invariants

Object = dict[str, Any]
_APPROVAL = {"torpor.dev/approval": "approved", "torpor.dev/approval-by": "admin"}
_MERGE = "application/merge-patch+json"


@dataclass(kw_only=True, eq=False)
class DisruptedRun:
    """`checks` counts how often the invariants were checked. `approves`: an approval is answered when it waits.

    `expected` is the end of a faultless run.
    """

    installation: ProcessInstallation
    namespace: str
    run: str
    random: Random
    expected: reference.Ending = reference.FAULTLESS
    checks: int = 0
    approves: bool = True
    approved: bool = field(default=False)

    def taskruns(self) -> list[Object]:
        return self.installation.taskruns(self.namespace, self.run)

    def workflow(self) -> Object:
        return self.installation.workflow(self.namespace, self.run)

    def children(self) -> list[tuple[Object, list[Object]]]:
        """The runs that tasks of the run are, with their TaskRuns."""
        if not self.expected.children:
            return []
        runs = self.installation.items("workflows", self.namespace)
        children = [run for run in runs if run["spec"].get("parent", {}).get("workflow") == self.run]
        return [(run, self.installation.taskruns(self.namespace, run["metadata"]["name"])) for run in children]

    def running_pods(self) -> list[Object]:
        """The pods of the run whose containers run."""
        uids = {run["metadata"]["uid"] for run in self.taskruns()}
        return [
            pod
            for pod in self.installation.items("pods", self.namespace)
            if pod.get("status", {}).get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            and any(owner["uid"] in uids for owner in pod["metadata"].get("ownerReferences", []))
        ]

    def step(self) -> bool:
        """Approve what waits for it, and check the invariants. Returns whether the run has ended."""
        runs = self.taskruns()
        pods = self.installation.items("pods", self.namespace)
        uids = {run["metadata"]["uid"] for run in runs}
        own = [pod for pod in pods if any(owner["uid"] in uids for owner in pod["metadata"].get("ownerReferences", []))]
        run_invariants.check(runs, own, 50)
        self.checks += 1
        if self.approves:
            self._approve(runs)
        for record in self._objects():
            self._complete(record)
        return has_ended(self.workflow())

    def waits_for_approval(self) -> bool:
        """Return whether all else that can run before the approval has ended, its pods included."""
        states = {run["spec"]["task"]: run["status"]["state"] for run in self.taskruns()}
        waiting = {task for task, state in states.items() if state not in TERMINAL}
        before = set(self.expected.tasks) - {"report", "tell"}
        pods = self.installation.items("pods", self.namespace)
        live = [pod for pod in pods if pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}]
        return waiting == {"ask"} and set(states) == before and not live

    def reach(self, notes: int) -> None:
        """Wait until so many processes of tasks have started, or the run has ended."""
        self.installation.until(
            lambda: self.step() or len(self.installation.notes(self.taskruns())) >= notes,
            f"{notes} notes of {self.run}",
        )

    def reach_any(self) -> None:
        """Wait for a random moment of the run."""
        self.reach(self.random.randrange(reference.NOTES - 3))

    def finish(self) -> None:
        """Wait for the end of the run."""
        self.installation.until(self.step, f"the end of {self.run}: {self._open()}")

    def judge(self) -> tuple[list[str], list[str]]:
        """Return what differs from a faultless run, and which notes are repeated."""
        runs = self.taskruns()
        children = self.children()
        found = reference.ending(self.workflow(), runs, children)
        lost = [*reference.differences(found, self.expected), *self._missing_files(runs), *self._wrong_effects(runs)]
        everything = [*runs, *(run for _, child_runs in children for run in child_runs)]
        return lost, reference.repeated(self.installation.notes(everything))

    def _objects(self) -> list[Object]:
        """What object tasks have created."""
        if "record" not in self.expected.tasks:
            return []
        return [each for each in self.installation.items("configmaps", self.namespace) if wrong_effects.owner(each)]

    def _complete(self, record: Object) -> None:
        """Do what the controller of an object does, if it is new."""
        if record["data"]["state"] == "new":
            path = f"{collection('configmaps', self.namespace)}/{record['metadata']['name']}"
            self.installation.request("PATCH", path, {"data": {"state": "done"}}, content_type=_MERGE).expect(200)

    def _wrong_effects(self, runs: list[Object]) -> list[str]:
        """Return what a faultless run would not have done outside of Torpor."""
        ordering = [run for run in runs if run["spec"]["task"] == "order"]
        requests = [
            each for run in ordering for each in wrong_effects.wrong_requests(run, self.installation.orders.keys)
        ]
        return requests + wrong_effects.wrong_objects(runs, self._objects())

    def _missing_files(self, runs: list[Object]) -> list[str]:
        """Return the files whose content the object store does not have."""
        if self.installation.objects is None:
            return []
        store = self.installation.objects.store()
        paths = [entry["path"] for page in store.list("objects/files/") for entry in page]
        return [
            f"the object of {run['metadata']['name']}, {file['name']}"
            for run in runs
            for file in run["status"].get("files", [])
            if file["digest"]
            not in {
                sha256(bytes(store.get(path).bytes())).hexdigest()
                for path in paths
                if f"/{run['metadata']['uid']}/" in path
            }
        ]

    def _open(self) -> list[str]:
        return [run["metadata"]["name"] for run in self.taskruns() if run["status"]["state"] not in TERMINAL]

    def _approve(self, runs: list[Object]) -> None:
        for run in runs:
            if run["spec"]["task"] == "ask" and run["status"]["state"] == "Deferred" and not self.approved:
                approve(self.installation, self.namespace, run["metadata"]["name"])
                self.approved = True


def approve(installation: ProcessInstallation, namespace: str, taskrun: str) -> None:
    """Answer the approval that a TaskRun waits for."""
    path = f"{collection('taskruns', namespace)}/{taskrun}"
    body = {"metadata": {"annotations": _APPROVAL}}
    installation.request("PATCH", path, body, content_type=_MERGE).expect(200)

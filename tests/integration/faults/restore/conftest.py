"""A namespace for each restore, and what the tests ask of its runs."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.conftest import collection
from tests.integration.faults.environment import open_namespace
from tests.integration.faults.installation import ProcessInstallation, has_ended
from tests.integration.faults.scene import approve

Object = dict[str, Any]
_MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredRun:
    """A run of the installation, before and after a restore."""

    installation: ProcessInstallation
    namespace: str
    name: str

    def taskruns(self) -> dict[str, Object]:
        """Return the TaskRuns by task."""
        runs = self.installation.taskruns(self.namespace, self.name)
        return {run["spec"]["task"]: run for run in runs}

    def states(self) -> dict[str, str]:
        return {task: str(run["status"]["state"]) for task, run in self.taskruns().items()}

    def await_states(self, states: dict[str, str]) -> None:
        self.installation.until(lambda: self.states() == states, f"{self.name} is {states}")

    def await_end(self) -> str:
        """Return the state in which it ended."""
        installation, namespace, name = self.installation, self.namespace, self.name
        installation.until(lambda: has_ended(installation.workflow(namespace, name)), f"the end of {name}")
        return str(installation.workflow(namespace, name)["status"]["state"])

    def approve(self, task: str) -> None:
        approve(self.installation, self.namespace, self.taskruns()[task]["metadata"]["name"])

    def clear(self, tasks: str) -> None:
        """Clear tasks, and wait until they have begun again."""
        path = f"{collection('workflows', self.namespace)}/{self.name}"
        annotation = {"metadata": {"annotations": {"torpor.dev/clear": tasks}}}
        self.installation.request("PATCH", path, annotation, content_type=_MERGE).expect(200)
        workflow = self.installation.workflow
        self.installation.until(
            lambda: workflow(self.namespace, self.name)["status"].get("clears") == 1, f"{tasks} are cleared"
        )

    def starts(self) -> dict[str, int]:
        """Return how many processes have run user code of each task, by the present uids."""
        return {task: len(self.installation.notes([run])) for task, run in self.taskruns().items()}


@pytest.fixture
def namespace(installation: ProcessInstallation) -> str:
    """A namespace of the test."""
    return open_namespace(installation, f"restore-{uuid.uuid4().hex[:8]}")


@contextmanager
def stopped(installation: ProcessInstallation, kind: str) -> Iterator[None]:
    """Keep all components of a kind down."""
    components = installation.named(kind)
    for component in components:
        component.held = True
        component.terminate()
    try:
        yield
    finally:
        for component in components:
            component.held = False

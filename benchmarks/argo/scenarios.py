"""What both are measured at, and Argo Workflows 4.1.2 as measured on another day, scaled to this machine's floor. Pure.

Argo at its best tuning (`controller.FLAGS`, requeue after 1 s), with kwok's pods, etcd without fsync, two shared cores,
one run a cell. The processor time of the processes that are missing here is not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.harness.metering import TaskCosts
from benchmarks.workflow.loads import TaskForm

FAN, MANY, CHAIN = "fan", "many", "chain"
_NAMES = {FAN: "fan-out of {:,}", MANY: "{:,} Workflows of one step", CHAIN: "chain of {:,}"}


@dataclass(frozen=True, slots=True)
class ArgoScenario:
    """A shape, and how many tasks.

    The fair rows have container tasks with a result on both sides, and Argo's executor reports it. In the others,
    Torpor's tasks are python tasks, which claim and report, and Argo's pods make no requests, as kwok plays them.
    """

    kind: str
    size: int
    form: TaskForm = TaskForm.PYTHON

    @property
    def is_fair(self) -> bool:
        """Whether the tasks are container tasks with a result, in both systems."""
        return self.form is TaskForm.CONTAINER

    @property
    def name(self) -> str:
        """For people."""
        return _NAMES[self.kind].format(self.size) + (", containers with a result" if self.is_fair else "")


VERSION = "v4.1.2"
FLOOR = TaskCosts(
    name="floor of 1000",
    tasks=1000,
    wall=8.18,
    cpu={"kube-apiserver": 8.86, "etcd": 1.19, "kube-scheduler": 0.95, "kubelet": 3.2, "client": 0.82},
)


def _taken(wall: float, tasks: int, controller: float, *servers: float) -> TaskCosts:
    names = ("kube-apiserver", "etcd", "kubelet")
    cpu = {"workflow-controller": controller, **dict(zip(names, servers, strict=True))}
    return TaskCosts(name="", tasks=tasks, wall=wall, cpu=cpu)


MEASURED: Mapping[ArgoScenario, TaskCosts] = {
    ArgoScenario(FAN, 100): _taken(2.11, 100, 0.45, 1.84, 0.27, 0.71),
    ArgoScenario(FAN, 1000): _taken(18.43, 1000, 4.21, 16.39, 2.14, 6.76),
    ArgoScenario(FAN, 3000): _taken(85.53, 3000, 46.37, 64.8, 8.98, 22.92),
    ArgoScenario(MANY, 200): _taken(6.04, 200, 1.58, 6.49, 0.66, 1.62),
    ArgoScenario(CHAIN, 50): _taken(50.55, 50, 1.09, 2.8, 0.63, 0.54),
}


def scaled(scenario: ArgoScenario, floor: TaskCosts) -> TaskCosts | None:
    """Of this size, as the machine of this floor might take it; None where no such size was measured.

    The wall of a chain is not scaled, since a timer makes it. A chain may be of any length.
    """
    if scenario.is_fair:
        return None
    measured = MEASURED[ArgoScenario(CHAIN, 50)] if scenario.kind == CHAIN else MEASURED.get(scenario)
    if measured is None:
        return None
    size, walls = scenario.size / measured.tasks, floor.wall / FLOOR.wall * FLOOR.tasks / floor.tasks
    wall = measured.wall * size * (1.0 if scenario.kind == CHAIN else walls)
    processors = floor.each() / FLOOR.each() * size
    cpu = {name: seconds * processors for name, seconds in measured.cpu.items()}
    return replace(measured, name=scenario.name, tasks=scenario.size, wall=wall, cpu=cpu)

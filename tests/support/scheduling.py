"""Which tests run one after the other when pytest runs in several processes (`pytest -n auto`), and which start first.

A group runs in one process, in the order of its file. Tests share a group if they share a fixture that is expensive to
set up, or if they would disturb each other. Groups that take long start first, so that no process works alone at the
end.
"""

from collections.abc import Sequence

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

CLUSTER = "tests/e2e/"
CONTROLLERS = "tests/integration/controller/"
ARCHIVE = "tests/integration/archive/"
SEEDS = "tests/simulation/test_invariants.py"

GROUPS: dict[str, Sequence[str]] = {
    # Loses a node of its own, and mostly waits for Kubernetes to notice.
    "node": ("test_node_lost",),
    # What stops, scales or kills Torpor's own pods, and what measures how soon they act.
    "disruptions": ("test_scale", "test_killed", "test_pools", "test_waiting", "test_secrets"),
    # One namespace with some fifty runs, which these tests read.
    "crowd": ("test_bad_input", "test_good_runs"),
    "runs": ("test_sensors", "test_ending", "test_hooks", "test_clear", "test_approval"),
}
"""Files of e2e that form a group; each other file is a group of its own."""

STAGES: Sequence[Sequence[str]] = (
    ("test_unavailable", "test_leader", "test_archived"),
    ("test_fuzz", "test_quiet", "test_poison_status"),
)
"""Files that share a control plane with two controllers; what is not named is in the last group."""


def processes(cores: int) -> int:
    """How many processes run the tests, since most tests wait. More than eight gain nothing: one cluster serves all."""
    return min(2 * cores + 1, 8)


def group(nodeid: str) -> str:
    """The group of a test."""
    path, _, test = nodeid.partition("::")
    stem = path.rpartition("/")[2].removesuffix(".py")
    if path.startswith(CLUSTER):
        return next((name for name, stems in GROUPS.items() if stem in stems), path)
    if path.startswith(CONTROLLERS):
        return f"stage {next((number for number, stems in enumerate(STAGES) if stem in stems), len(STAGES))}"
    if path.startswith(ARCHIVE):
        return next((f"archive {kind}" for kind in ("sqlite", "postgresql") if f"[{kind}" in test), path)
    return nodeid if path == SEEDS else path


def rank(nodeid: str) -> int:
    """What starts first: pods and nodes, then what waits for timers and has to start servers, then computations."""
    path = nodeid.partition("::")[0]
    of_group = group(nodeid)
    if of_group in GROUPS:
        return list(GROUPS).index(of_group)
    order = (CONTROLLERS, CLUSTER, SEEDS, ARCHIVE, "tests/integration/triggerer/", "tests/integration/", "")
    return len(GROUPS) + next(number for number, start in enumerate(order) if path.startswith(start))


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out groups in the order of collection, and each as late as possible."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        # A process begins its last test once it knows the next one. Two tests ahead, as xdist plans, is one too many:
        # the next group would wait for the end of a long test while another process is idle.
        if not self.workqueue or node.shutting_down or self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)

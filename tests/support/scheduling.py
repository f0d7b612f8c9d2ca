"""Which tests run one after the other when pytest runs in several processes (`pytest -n auto`), and which start first.

A group runs in one process, in the order of its file. Tests share a group if they share a fixture that is expensive to
set up, or if they would disturb each other. Groups that take long start first, so that no process works alone at the
end.
"""

from collections.abc import Mapping, Sequence

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

GROUPS: Mapping[str, Sequence[str]] = {
    # A cluster of its own.
    "install": ("e2e/test_install", "e2e/kueue/"),
    # Loses a node of its own, and mostly waits for Kubernetes to notice.
    "node": ("e2e/test_node_lost",),
    # Each of the two has a control plane with two controllers and a triggerer. The first one stops and kills them.
    "outages": tuple(
        f"integration/controller/test_{name}" for name in ("unavailable", "leader", "waits_under_pressure")
    ),
    # The folder why comes last: it leaves twenty-nine stuck runs, which it cancels.
    "controllers": ("integration/controller/",),
    # What stops, scales or kills Torpor's own pods, counts them, measures how soon they act or reads all their logs.
    "disruptions": (
        *(f"e2e/test_{name}" for name in ("scale", "killed", "waiting", "secrets")),
        "e2e/cli/test_lint_doctor",
    ),
    # One installation of processes, which these tests strike and restore.
    "faults": ("integration/faults/",),
    # Chromium, and the page's server with a made-up cluster.
    "browser": ("browser/",),
    # One pool of triggerers, which the last test of a process removes.
    "airflow": ("e2e/airflow/",),
    # One namespace with some fifty runs, which these tests read.
    "concurrent runs": ("e2e/test_bad_input", "e2e/test_good_runs"),
}
"""How the paths of a group's tests begin, below `tests`. Each other file is a group of its own."""

ORDER: Sequence[str] = (
    "install",
    "node",
    "faults",
    "outages",
    "controllers",
    "disruptions",
    "browser",
    # These compute, while the groups above wait.
    "simulation/test_invariants",
    "concurrent runs",
    "airflow",
    "e2e/",
    "integration/triggerer/",
    "integration/",
    "simulation/",
)
"""Groups and paths in the order in which they start. What is not named comes last."""

APART: Sequence[str] = ("simulation/test_invariants", "integration/triggerer/", "e2e/examples/test_local_translations")
"""Files whose tests share nothing that takes long to set up: each test is a group of its own."""


def processes(cores: int) -> int:
    """How many processes run the tests, since most tests wait. More than eight gain nothing: one cluster serves all."""
    return min(3 * cores, 8)


def group(nodeid: str) -> str:
    """The group of a test."""
    path, _, test = nodeid.removeprefix("tests/").partition("::")
    for name, starts in GROUPS.items():
        if path.startswith(tuple(starts)):
            return name
    if path.startswith(("integration/archive/", "integration/attacks/test_archive")):
        # Each kind of database is a server, and an archive that uses it.
        return "archive postgresql" if "[postgresql" in test else "archive sqlite"
    return nodeid if path.startswith(tuple(APART)) else path


def rank(nodeid: str) -> int:
    """What has a lower rank starts first."""
    names = group(nodeid), nodeid.removeprefix("tests/")
    return next(
        (place for place, start in enumerate(ORDER) if any(name.startswith(start) for name in names)), len(ORDER)
    )


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out groups in the order of collection, and each as late as possible."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        # A process begins its last test once it knows the next one. Two tests ahead, as xdist plans, is one too many:
        # the next group would wait for the end of a long test while another process is idle.
        if not self.workqueue or node.shutting_down or self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)

"""How many runs an outermost run has in it, at each depth."""

import pytest
from torpor_crds.models import workflow
from torpor_operator.model.run_index import RunIndex

from tests.support.manifests import manifest


def run(name: str, root: str = "", depth: int = 1) -> workflow.Workflow:
    """A run; with the uid of an outermost one, a run in it."""
    parent = {"parent": {"workflow": "w", "taskRun": "t", "uid": f"t-{name}", "depth": depth, "root": root}}
    spec = {"tasks": [{"name": "a", "python": "m:f", "image": "i"}], **(parent if root else {})}
    return workflow.parse(manifest("Workflow", name, spec, namespace="flows", uid=f"uid-{name}"))


@pytest.mark.attack
def test_runs_of_each_depth_count_until_they_are_gone() -> None:
    outer, stored = run("outer"), dict[str, workflow.Workflow]()
    index = RunIndex(stored)
    for number in range(30):
        inner = run(f"inner-{number}", outer.metadata.uid, depth=1 + number % 5)
        stored[inner.metadata.name] = inner
        index.add(inner.metadata.name, inner)
    other = run("other", "uid-of-another")
    index.add("other", other)
    assert [index.count_in_root(each) for each in (outer, stored["inner-4"], other, run("new"))] == [30, 30, 1, 0]
    index.discard("inner-4", stored["inner-4"])
    assert index.count_in_root(outer) == 29

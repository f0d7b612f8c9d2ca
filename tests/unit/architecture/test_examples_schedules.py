"""The objects of examples/schedules are valid, and each kustomization has all files of its folder but a run."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_crds.models import workflow
from torpor_expressions import syntax
from torpor_operator.graph import dag

from tests.unit.architecture.test_docs_examples import (
    METADATA,
    PARSERS,
    SEEN_BY_PARAMS,
    expressions,
    graph,
    source_problems,
    unknown,
)

_FOLDER = Path(__file__).parents[3] / "examples/schedules"
_FOLDERS = sorted(path.parent.name for path in _FOLDER.glob("*/kustomization.yaml"))
BODIES = {
    f"{path.relative_to(_FOLDER)}-{number}": body
    for path in sorted(_FOLDER.rglob("*.yaml"))
    for number, body in enumerate(yaml.safe_load_all(path.read_text()), start=1)
    if body["apiVersion"].startswith("torpor.dev/")
}


def declared(name: str) -> set[str]:
    """The parameters of a template."""
    (template,) = [
        body for body in BODIES.values() if (body["kind"], body["metadata"].get("name")) == ("WorkflowTemplate", name)
    ]
    return {each["name"] for each in template["spec"]["params"]}


def test_there_are_three_examples() -> None:
    assert _FOLDERS == ["chain", "nightly", "stream"]


@pytest.mark.parametrize("place", BODIES)
def test_an_object_is_valid(place: str) -> None:
    body = BODIES[place]
    parsed: Any = PARSERS.get(body["kind"], workflow.parse)({"metadata": METADATA, "spec": body["spec"]})
    assert unknown(body["spec"], parsed.spec.model_dump(by_alias=True)) == []


@pytest.mark.parametrize("place", BODIES)
def test_what_it_runs_has_a_graph(place: str) -> None:
    spec = graph(BODIES[place])
    assert spec is None or isinstance(dag.build(workflow.parse({"metadata": METADATA, "spec": spec}).spec), dag.Graph)


@pytest.mark.parametrize("place", BODIES)
def test_the_expressions_of_a_schedule_read_what_it_provides(place: str) -> None:
    for expression in expressions(BODIES[place]):
        assert syntax.check(expression, roots=SEEN_BY_PARAMS) is None


@pytest.mark.parametrize("place", BODIES)
def test_a_template_has_the_params_that_are_set(place: str) -> None:
    spec: dict[str, Any] = BODIES[place]["spec"]
    if "templateRef" in spec:
        assert set(spec["params"]) <= declared(spec["templateRef"]["name"])


@pytest.mark.parametrize("folder", _FOLDERS)
def test_a_kustomization_has_all_files_but_a_run(folder: str) -> None:
    listed = yaml.safe_load((_FOLDER / folder / "kustomization.yaml").read_text())["resources"]
    there = {path.name for path in (_FOLDER / folder).glob("*.yaml")} - {"kustomization.yaml", "run.yaml"}
    assert set(listed) == there


@pytest.mark.parametrize("place", [place for place, body in BODIES.items() if body["kind"] == "Schedule"])
def test_the_sources_of_a_schedule_can_be_armed(place: str) -> None:
    assert source_problems(BODIES[place]) == []

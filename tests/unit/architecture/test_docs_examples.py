"""Each example of the documentation that is an object of Torpor is valid; every other YAML block parses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_cli.linting import triggers
from torpor_cli.linting.finding import Severity
from torpor_crds.models import backfill, schedule, template, workflow
from torpor_expressions import references, syntax
from torpor_expressions import template as text
from torpor_expressions.errors import ExpressionError
from torpor_operator.graph import dag
from torpor_wire import trigger
from torpor_wire.cron.ticks import Ticks

_DOCS = Path(__file__).parents[3] / "docs"
_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BODIES = {"python", "container", "trigger"}
METADATA = {"name": "x", "namespace": "y", "uid": "z"}
PARSERS = {"WorkflowTemplate": template.parse, "Schedule": schedule.parse, "Backfill": backfill.parse}
SEEN_BY_PARAMS = frozenset({"event", "at", "previous", "source"})


def blocks() -> dict[str, str]:
    """The YAML of all pages, by page and position."""
    return {
        f"{path.relative_to(_DOCS.parent)}-{number}": text
        for path in sorted([*_DOCS.rglob("*.md"), _DOCS.parent / "README.md"], key=str)
        for number, text in enumerate(_BLOCK.findall(path.read_text()), start=1)
    }


def spec(example: str) -> dict[str, Any] | None:
    """The spec of an example that is a Workflow, a spec, a list of tasks or one trigger; None for other YAML.

    The last two are fragments, so they get the params that they refer to.
    """
    params = dict.fromkeys(re.findall(r"params\.(\w+)", example), "x")
    match list(yaml.safe_load_all(example)):
        case [{"kind": "Workflow", "spec": {"templateRef": _}}]:
            return None
        case [{"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "spec": dict(written)}]:
            return written
        case [{"apiVersion": _}]:
            return None
        case [{"tasks": list()} as written]:
            return {"image": "ingest:1.4", **written}
        case [[dict(first), *_] as tasks] if _BODIES & set(first):
            return {"image": "ingest:1.4", "params": params, "tasks": tasks}
        case [{"trigger": {"class": _}} as task]:
            return {"params": params, "tasks": [{"name": "wait", **task}]}
        case _:
            return None


def objects(example: str) -> list[dict[str, Any]]:
    """The templates, Schedules and Backfills of an example, and the runs of templates.

    A list of sources is a fragment of a Schedule.
    """
    documents = list(yaml.safe_load_all(example))
    match documents:
        case [{"sources": list()} as written]:
            runs = {} if "workflow" in written or "templateRef" in written else {"templateRef": {"name": "ingest"}}
            return [{"apiVersion": "torpor.dev/v1alpha1", "kind": "Schedule", "spec": {**runs, **written}}]
        case _:
            return [each for each in documents if isinstance(each, dict) and _is_object(each)]


def _is_object(document: dict[str, Any]) -> bool:
    match document:
        case {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "spec": {"templateRef": _}}:
            return True
        case {"apiVersion": "torpor.dev/v1alpha1", "kind": kind}:
            return kind in PARSERS
        case _:
            return False


OBJECTS = {
    f"{place}-{body['kind']}-{number}": body
    for place, block in blocks().items()
    for number, body in enumerate(objects(block), start=1)
}
EXAMPLES = {place: written for place, block in blocks().items() if (written := spec(block)) is not None}


def unknown(written: Any, kept: Any) -> list[str]:
    """Fields that no model has: kubectl refuses them."""
    match written, kept:
        case dict(), dict():
            lost = [name for name in written if name not in kept]
            return lost + [name for key in written for name in unknown(written[key], kept.get(key))]
        case list(), list() | tuple():
            return [name for one, other in zip(written, kept, strict=True) for name in unknown(one, other)]
        case _:
            return []


def graph(body: dict[str, Any]) -> dict[str, Any] | None:
    """The workflow of a template or Schedule, with the params that its tasks can read."""
    match body:
        case {"kind": "WorkflowTemplate", "spec": {"workflow": written} as outer}:
            declared = {each["name"]: each.get("default") for each in outer.get("params", ())}
        case {"kind": "Schedule", "spec": {"workflow": written} as outer}:
            declared = outer.get("params", {})
        case _:
            return None
    return {**written, "params": {**declared, **written.get("params", {})}}


def expressions(body: dict[str, Any]) -> list[str]:
    """The expressions that a Schedule evaluates for an event."""
    if body["kind"] != "Schedule":
        return []
    listed = [body["spec"]["when"]] if "when" in body["spec"] else []
    for value in strings(body["spec"].get("params", {})):
        parsed = text.parse(value)
        assert not isinstance(parsed, ExpressionError), parsed.message
        listed += parsed.expressions
    return listed


def source_problems(body: dict[str, Any]) -> list[str]:
    """Why a source of a Schedule cannot be armed. A class with a cursor gets the argument, as from the operator."""
    texts: list[str] = []
    for source in body["spec"]["sources"]:
        if "cron" in source:
            Ticks.parse(source["cron"], source.get("timezone"))
            continue
        call = source["trigger"]
        cursor = {"cursor": source.get("cursor")} if call["class"] in trigger.CURSORS or "cursor" in source else {}
        task = {"trigger": {**call, "kwargs": {**call.get("kwargs", {}), **cursor}}}
        problems = triggers.problems({"tasks": [task]}, triggers.classes({}))
        texts += [
            problem.message for problem in problems if problem.severity is Severity.ERROR
        ]  # a class of a reader is unknown
    return texts


def strings(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [each for entry in value.values() for each in strings(entry)]
        case list():
            return [each for entry in value for each in strings(entry)]
        case _:
            return []


def test_the_pages_have_examples() -> None:
    assert len(EXAMPLES) >= 40
    assert {body["kind"] for body in OBJECTS.values()} >= {"WorkflowTemplate", "Schedule", "Workflow"}


@pytest.mark.parametrize("place", EXAMPLES)
def test_every_example_can_run(place: str) -> None:
    written = EXAMPLES[place]
    parsed = workflow.parse({"metadata": METADATA, "spec": written}).spec
    assert unknown(written, parsed.model_dump(by_alias=True)) == []
    assert isinstance(dag.build(parsed), dag.Graph)


@pytest.mark.parametrize("place", OBJECTS)
def test_every_object_is_valid(place: str) -> None:
    body = OBJECTS[place]
    parsed: Any = PARSERS.get(body["kind"], workflow.parse)({"metadata": METADATA, "spec": body["spec"]})
    assert unknown(body["spec"], parsed.spec.model_dump(by_alias=True)) == []


@pytest.mark.parametrize("place", [place for place, body in OBJECTS.items() if graph(body) is not None])
def test_the_workflow_of_a_template_or_schedule_can_run(place: str) -> None:
    parsed = workflow.parse({"metadata": METADATA, "spec": graph(OBJECTS[place])}).spec
    assert isinstance(dag.build(parsed), dag.Graph)


@pytest.mark.parametrize("place", [place for place, body in OBJECTS.items() if body["kind"] == "Schedule"])
def test_the_expressions_of_a_schedule_read_what_it_provides(place: str) -> None:
    for expression in expressions(OBJECTS[place]):
        assert syntax.check(expression, roots=SEEN_BY_PARAMS) is None
        assert not isinstance(references.find(expression, roots=SEEN_BY_PARAMS), ExpressionError)


@pytest.mark.parametrize("place", [place for place, body in OBJECTS.items() if body["kind"] == "Schedule"])
def test_the_sources_of_a_schedule_can_be_armed(place: str) -> None:
    assert source_problems(OBJECTS[place]) == []

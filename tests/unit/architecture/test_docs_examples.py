"""Each example of the documentation that is a Workflow can run; every other YAML block parses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_api.models import workflow
from torpor_operator.graph import dag

_DOCS = Path(__file__).parents[3] / "docs"
_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BODIES = {"python", "container", "trigger"}


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


EXAMPLES = {place: written for place, text in blocks().items() if (written := spec(text)) is not None}


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


def test_the_pages_have_examples() -> None:
    assert len(EXAMPLES) >= 40


@pytest.mark.parametrize("place", EXAMPLES)
def test_every_example_can_run(place: str) -> None:
    written = EXAMPLES[place]
    parsed = workflow.parse({"metadata": {"name": "x", "namespace": "y", "uid": "z"}, "spec": written}).spec
    assert unknown(written, parsed.model_dump(by_alias=True)) == []
    assert isinstance(dag.build(parsed), dag.Graph)

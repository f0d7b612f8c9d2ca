"""docs/workflows.md is right: each of its examples is a Workflow that can run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_api.models import workflow
from torpor_operator.graph import dag

_PAGE = (Path(__file__).parents[3] / "docs/workflows.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)


def spec(example: str) -> dict[str, Any]:
    """An example is a spec, or only its tasks."""
    written = yaml.safe_load(example)
    return {"image": "ingest:1.4", **(written if isinstance(written, dict) else {"tasks": written})}


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


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_can_run(example: str) -> None:
    written = spec(example)
    parsed = workflow.parse({"metadata": {"name": "x", "namespace": "y", "uid": "z"}, "spec": written}).spec
    assert unknown(written, parsed.model_dump(by_alias=True)) == []
    assert isinstance(dag.build(parsed), dag.Graph)

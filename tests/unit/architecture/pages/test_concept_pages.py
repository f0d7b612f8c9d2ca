"""The concept pages name every state and every trigger rule of the CRDs."""

import re
from pathlib import Path
from typing import Any

import yaml

_ROOT = Path(__file__).parents[4]


def schema(kind: str) -> dict[str, Any]:
    """The properties of a kind's schema."""
    definition = yaml.safe_load((_ROOT / f"crds/{kind}.torpor.dev.yaml").read_text())
    properties: dict[str, Any] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return properties


def first_column(page: str) -> set[str]:
    """What the rows of a page's tables begin with, where that is code."""
    text = (_ROOT / f"docs/concepts/{page}.md").read_text()
    return set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE))


def test_every_state_of_a_taskrun_is_described() -> None:
    states = schema("taskruns")["status"]["properties"]["state"]["enum"]
    assert set(states) - first_column("taskrun") == set()


def test_every_trigger_rule_is_described_and_no_other() -> None:
    task = schema("workflows")["spec"]["properties"]["tasks"]["items"]["properties"]
    assert set(task["rule"]["enum"]) == first_column("trigger-rules")

"""Every YAML example of docs/reference/triggers.md makes a trigger."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_triggerer.usercode.registry import Unknown, load

_PAGE = (Path(__file__).resolve().parents[3] / "docs/reference/triggers.md").read_text()
_EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL)
_REGISTRY = load({})


def class_of(name: str) -> Any:
    trigger_class = _REGISTRY.find(name)
    assert not isinstance(trigger_class, Unknown), trigger_class.message
    return trigger_class


@pytest.mark.parametrize("example", _EXAMPLES)
def test_every_example_makes_a_trigger_that_reads_back_what_it_wrote(example: str) -> None:
    document = yaml.safe_load(re.sub(r"\$\{[^}]*\}", "2026-11-20", example))
    task = document[0] if isinstance(document, list) else document
    trigger = class_of(task["trigger"]["class"])(**task["trigger"]["kwargs"])
    name, kwargs = trigger.serialize()
    assert class_of(name)(**kwargs).serialize() == (name, kwargs)

"""docs/triggers.md is right: every argument of a class has its line, and every example can be made."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_triggerer.usercode.registry import BUILT_IN, Unknown, load

_PAGE = (Path(__file__).resolve().parents[3] / "docs/triggers.md").read_text()
_TITLED = re.findall(r"^## ([\w, ]+)\n(.*?)(?=^## |\Z)", _PAGE, re.MULTILINE | re.DOTALL)
_SECTIONS = {name: text for title, text in _TITLED for name in title.split(", ")}
_EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL)
_REGISTRY = load({})


def made(name: str) -> Any:
    found = _REGISTRY.find(name)
    assert not isinstance(found, Unknown), found.message
    return found


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) & set(_SECTIONS)))
def test_every_argument_of_a_class_has_a_line_in_its_section_and_no_other(name: str) -> None:
    lines = re.findall(
        r"^\| (`[^|]*`) \| ", _SECTIONS[name].partition("| argument |")[2].partition("\n\n")[0], re.MULTILINE
    )
    named = {argument for line in lines for argument in re.findall(r"`(\w+)`", line)}
    assert named == set(inspect.signature(made(name)).parameters)


@pytest.mark.parametrize("example", _EXAMPLES)
def test_every_example_makes_a_trigger_that_reads_back_what_it_wrote(example: str) -> None:
    document = yaml.safe_load(re.sub(r"\$\{[^}]*\}", "2026-11-20", example))
    task = document[0] if isinstance(document, list) else document
    trigger = made(task["trigger"]["class"])(**task["trigger"]["kwargs"])
    name, kwargs = trigger.serialize()
    assert made(name)(**kwargs).serialize() == (name, kwargs)

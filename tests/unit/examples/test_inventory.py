"""examples/inventory.yaml, which the README shows."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[3]


@pytest.fixture
def inventory(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the ConfigMap, which is first in the path of a task."""
    monkeypatch.syspath_prepend(str(ROOT / "examples/inventory"))
    return importlib.import_module("inventory")


def test_the_first_example_of_the_readme_is_the_file() -> None:
    (written,) = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert yaml.safe_load(written) == yaml.safe_load((ROOT / "examples/inventory.yaml").read_text())


def test_the_tasks_measure_packages_of_the_standard_library(inventory: ModuleType) -> None:
    names = inventory.packages(2)
    assert len(names) == 2
    deferral = inventory.measure(names[0], "1s")
    row = inventory.weigh(**deferral.state, event=None)
    assert row["files"] == len(inventory.modules(names[0])) > 0
    assert names[0] in inventory.report([row])

"""The mutants replace functions that exist, so that a renamed guard does not stay in unnoticed."""

import subprocess
import sys
from pathlib import Path

_SWITCH_ALL = """
from tests.simulation.mutants import MUTANTS
for mutant in MUTANTS:
    try:
        mutant.switch()
    except AttributeError as error:
        print(f"{mutant.name}: {error}")
"""


def test_each_mutant_replaces_what_exists() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", _SWITCH_ALL], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == ""

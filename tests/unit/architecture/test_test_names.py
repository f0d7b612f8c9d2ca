"""The name of a test is a sentence that fits in a line of a report."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 72
DEFINED = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)


def test_names_of_tests_have_at_most_72_characters() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "airflow-bridge").rglob("*.py")])
        for name in DEFINED.findall(path.read_text())
        if len(name) > LIMIT
    ]
    assert too_long == []

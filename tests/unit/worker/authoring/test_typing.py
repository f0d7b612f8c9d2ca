"""mypy --strict accepts the example, and reports calls of tasks that do not fit."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[4]
_WRONG = """
from ingest.flows import sales
from ingest.tasks import load, report
from torpor.authoring import workflow

@workflow(image="x:1")
def flow(day: str = "monday") -> None:
    rows = load.options(retries=3).partial(minimum=3).expand(path=[day])
    report(day, rows)
    load(day, 3).bit_length()
    load(day)  # missing
    load(3, 3)  # type
    report(day, load(day, 3))  # not a list
    load.options(retry=3)  # option
    load.after(rows)(day)  # missing

flow("tuesday")["spec"]
sales(minimum="many")  # param

@workflow(img="x:1")  # option
def other() -> None: ...
"""


@pytest.mark.long
def test_mypy_accepts_the_example_and_reports_wrong_calls(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(_WRONG)
    options = ["--strict", "--no-incremental", f"--config-file={tmp_path / 'none.ini'}"]
    (tmp_path / "none.ini").write_text(
        "[mypy]\nexplicit_package_bases = true\nnamespace_packages = true\n"
        f"mypy_path = {_ROOT / 'worker-image'}:{_ROOT / 'libraries/wire'}:{_ROOT / 'examples/authoring'}\n"
    )
    files = [str(tmp_path / "wrong.py"), *map(str, (_ROOT / "examples/authoring/ingest").glob("*.py"))]
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    reported = sorted({int(line) for line in re.findall(r"^\S*wrong\.py:(\d+): error", ended.stdout, re.MULTILINE)})
    expected = [number for number, line in enumerate(_WRONG.splitlines(), start=1) if "  # " in line]
    assert reported == expected, ended.stdout
    assert "ingest/" not in ended.stdout

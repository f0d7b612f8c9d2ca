"""mypy --strict compares the state of `defer` with the function that resumes; interactive users see what is lazy."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torpor
from torpor import triggers
from torpor.deferral import defer

_ROOT = Path(__file__).parents[3]
_DEFERRALS = """
from typing import Any
from torpor import Deferral, defer, task
from torpor.triggers import Duration

def collect(event: Any, job: str, limit: int = 3) -> str:
    return job

async def follow(event: dict[str, Any] | None, *, job: str) -> None: ...

@task
def marked(event: Any, job: str) -> str:
    return job

def loose(event: Any, **state: Any) -> None: ...
def late(job: str) -> None: ...
def again(event: Any = None) -> Deferral:
    return defer(Duration(1), then=again)
def load(path: str, event: object = None) -> Deferral:
    return defer(Duration(1), then=load, path=path)

defer(Duration(1), then=collect, job="a")
defer(Duration(1), then=collect, timeout="6h", on_timeout=late, job="a", limit=4)
defer(Duration(1), then=follow, job="a")
defer(Duration(1), then=marked, job="a", timeout=60)
defer(Duration(1), then=loose, job="a", n=1)
defer(Duration(1), then=collect)  # missing
defer(Duration(1), then=load, job="a")  # name
defer(Duration(1), then=collect, job=3)  # type
defer(Duration(1), then=collect, jib="a")  # name
defer(Duration(1), then=collect, job="a", other=1)  # unknown
defer(Duration(1), then=follow, limit=1)  # missing
defer(Duration(1), then=marked, job=None)  # type
defer(Duration(1), then=late)  # missing
defer(Duration(1), then="collect", job="a")  # not a function
defer(Duration(1), then=collect, timeout=[], job="a")  # timeout
"""


@pytest.mark.long
def test_mypy_compares_the_state_with_the_function_that_resumes(tmp_path: Path) -> None:
    (tmp_path / "deferrals.py").write_text(_DEFERRALS)
    (tmp_path / "none.ini").write_text(
        f"[mypy]\nexplicit_package_bases = true\nmypy_path = {_ROOT / 'worker-image'}:{_ROOT / 'libraries/wire'}\n"
    )
    options = ["--strict", "--no-incremental", f"--config-file={tmp_path / 'none.ini'}"]
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "deferrals.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    reported = sorted({int(line) for line in re.findall(r"^\S*deferrals\.py:(\d+): error", ended.stdout, re.MULTILINE)})
    expected = [number for number, line in enumerate(_DEFERRALS.splitlines(), start=1) if "  # " in line]
    assert reported == expected, ended.stdout


def resumed(event: object, job: str) -> None:
    """Resume nothing."""


def test_the_state_of_a_deferral_is_passed_by_name() -> None:
    with pytest.raises(TypeError, match="takes the state by name"):
        defer(triggers.Duration(1), resumed, None, None, "a")
    assert defer(triggers.Duration(1), then=resumed, job="a").state == {"job": "a"}


def test_what_is_imported_on_first_use_is_listed() -> None:
    assert set(triggers.__all__) <= set(dir(triggers))
    assert set(torpor.__all__) <= set(dir(torpor))
    assert all(getattr(triggers, name).__name__ == name for name in triggers.__all__)

"""A task pod imports `torpor.triggers` before user code: what that brings along is counted."""

import subprocess
import sys

import pytest
from torpor import triggers

HEAVY = {"aiohttp", "asyncio", "dataclasses", "inspect", "logging", "ssl", "torpor_crds", "torpor_expressions", "yarl"}
HEAVY |= {"asyncpg", "aiosqlite", "greenlet", "obstore", "redis", "socket", "sqlalchemy", "sqlite3"}


@pytest.mark.parametrize("name", triggers.__all__)
def test_naming_a_trigger_brings_nothing_heavy_along(name: str) -> None:
    program = f"import sys; from torpor.triggers import {name}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_what_is_not_there_is_said_as_usual() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Nope'"):
        exec("from torpor.triggers import Nope")

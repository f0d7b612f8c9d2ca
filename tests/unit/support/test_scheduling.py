"""How tests are spread over processes."""

from itertools import chain
from pathlib import Path

import pytest

from tests.support import scheduling

TESTS = Path(__file__).parents[2]
FILES = [str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")]
STARTS = [*chain.from_iterable(scheduling.GROUPS.values()), *scheduling.APART]


@pytest.mark.parametrize("start", [*STARTS, *(one for one in scheduling.ORDER if one not in scheduling.GROUPS)])
def test_every_path_that_is_named_exists(start: str) -> None:
    assert any(file.startswith(start) for file in FILES)


def test_every_group_has_a_place_in_the_order() -> None:
    assert set(scheduling.GROUPS) <= set(scheduling.ORDER)


def test_tests_that_share_a_control_plane_are_one_group() -> None:
    first, second = (f"tests/integration/controller/test_{name}.py::test" for name in ("quiet", "fuzz"))
    assert scheduling.group(first) == scheduling.group(second) != scheduling.group("tests/unit/wire/test_a.py::test")


def test_each_kind_of_database_is_a_group() -> None:
    path = "tests/integration/archive/test_results.py::test_a_result"
    assert scheduling.group(f"{path}[sqlite-list]") == "archive sqlite"
    assert scheduling.group(f"{path}[postgresql]") == "archive postgresql"


def test_what_waits_long_starts_before_what_is_short() -> None:
    starts = [
        "e2e/test_node_lost.py",
        "integration/controller/test_quiet.py",
        "e2e/test_hooks.py",
        "unit/wire/test_a.py",
    ]
    ranks = [scheduling.rank(f"tests/{start}::test") for start in starts]
    assert ranks == sorted(set(ranks))


def test_there_are_more_processes_than_cores_and_not_too_many() -> None:
    assert scheduling.processes(2) == 5
    assert scheduling.processes(64) == 8

"""Sets of instances within groups as a status holds them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        ([], ""),
        ([(2,)], "2"),
        ([(0,), (1,), (5,)], "0-1,5"),
        ([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)], "0-1.0-1,2.0"),
        ([(0, 0), (0, 2), (1, 0), (1, 2)], "0-1.0,0-1.2"),
        ([(0, 0, 3), (2, 0, 3)], "0.0.3,2.0.3"),
        ([(a, b) for a in range(100) for b in range(100)], "0-99.0-99"),
    ],
)
def test_a_set_is_its_ranges_at_each_level_and_comes_back_from_them(paths: list[Path], text: str) -> None:
    assert instance_paths.text(reversed(paths)) == text
    assert instance_paths.parse_paths(text, len(paths[0]) if paths else 1) == frozenset(paths)


@given(st.integers(1, 4).flatmap(lambda depth: st.sets(st.tuples(*[st.integers(0, 5)] * depth), min_size=1)))
def test_written_paths_can_be_read_again(paths: set[Path]) -> None:
    assert instance_paths.parse_paths(instance_paths.text(paths), len(next(iter(paths)))) == paths


@pytest.mark.parametrize("text", ["a", "1.", ".1", "1..2", "3-1.0", "0-1", "0.0.0", "0-99999.0-99999", "0.-1"])
def test_what_is_no_range_of_two_levels_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"instances|before it begins|levels"):
        instance_paths.parse_paths(text, 2)


def test_what_another_hand_wrote_is_not_counted_up_before_it_is_refused() -> None:
    with pytest.raises(ValueError, match="exceeds"):
        instance_paths.parse_paths(",".join(["0-999.0-99"] * 50 + ["0-999999.0-999999"]), 2)


def test_last_indexes_are_grouped_by_the_indexes_before_them() -> None:
    frames = instance_paths.by_group_path([(0, 0), (0, 1), (3, 7)])
    assert frames == {(0,): Indexes.from_numbers([0, 1]), (3,): Indexes.from_numbers([7])}
    assert sorted(instance_paths.joined(frames)) == [(0, 0), (0, 1), (3, 7)]


def test_one_path_is_its_numbers() -> None:
    assert instance_paths.written((2, 0)) == "2.0"
    assert len(instance_paths.written((0,) * (constants.GROUP_DEPTH + 1)).split(".")) == constants.GROUP_DEPTH + 1

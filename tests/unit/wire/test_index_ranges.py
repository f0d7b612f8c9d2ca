"""Sets of instances as a status holds them."""

import pytest
from torpor_wire.index_ranges import Indexes


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((0,), "0"), ((3, 1, 2), "1-3"), ((0, 1, 5, 7, 8, 9), "0-1,5,7-9"), ((9_999,), "9999")],
)
def test_a_set_is_its_ranges_and_comes_back_from_them(numbers: tuple[int, ...], text: str) -> None:
    indexes = Indexes.from_numbers(numbers)
    assert indexes.text() == text
    assert Indexes.parse(text) == indexes
    assert list(indexes) == sorted(numbers)
    assert len(indexes) == len(numbers)


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "1 2", "0x1", "9999999999", "0-999999999", "100000"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"instances|beyond|before it begins"):
        Indexes.parse(text)


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no instance -1"):
        Indexes.from_numbers([-1])


def test_sets_join_meet_and_differ() -> None:
    left, right = Indexes.from_numbers([0, 1, 2]), Indexes.from_numbers([2, 9])
    assert (left | right).text() == "0-2,9"
    assert (left & right).text() == "2"
    assert (left - right).text() == "0-1"
    assert right.missing(4).text() == "0-1,3"
    assert right.end == 10
    assert (2 in right, 3 in right, -1 in right) == (True, False, False)


def test_ten_thousand_that_alternate_are_written_and_read() -> None:
    indexes = Indexes.from_numbers(range(0, 10_000, 2))
    assert Indexes.parse(indexes.text()) == indexes
    assert len(indexes) == 5_000

"""What several test processes set up once."""

from pathlib import Path

import pytest

from tests.support.users import Users


def test_the_first_sets_up_and_the_last_takes_down(tmp_path: Path) -> None:
    firsts, lasts = [], []
    for _ in range(2):
        with Users(tmp_path / "cluster").joined() as first:
            firsts.append(first)
    for _ in range(2):
        with Users(tmp_path / "cluster").left() as last:
            lasts.append(last)
    assert (firsts, lasts) == ([True, False], [False, True])


def test_one_that_could_not_set_up_leaves_it_to_the_next(tmp_path: Path) -> None:
    users = Users(tmp_path / "cluster")
    with pytest.raises(OSError, match="no cluster"), users.joined():
        raise OSError("no cluster")
    with users.joined() as first:
        assert first

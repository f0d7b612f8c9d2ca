"""The free slots of a pool are divided fairly."""

import pytest
from torpor_operator.controller.fair_share import Demand, divide


def demand(*, held: int = 0, resumes: int = 0, starts: int = 0, since: float = 0.0) -> Demand:
    return Demand(held=held, resumes=resumes, starts=starts, since=since)


@pytest.mark.parametrize(
    ("free", "demands", "expected"),
    [
        (3, {"a": demand(starts=10), "b": demand(starts=10, since=1), "c": demand(starts=10, since=2)}, [1, 1, 1]),
        (4, {"a": demand(starts=10), "b": demand(starts=1, since=1), "c": demand(starts=10, since=2)}, [2, 1, 1]),
        (2, {"a": demand(held=5, starts=10), "b": demand(starts=10, since=1), "c": demand()}, [0, 2, 0]),
        (2, {"a": demand(starts=10), "b": demand(held=9, resumes=1, since=1), "c": demand()}, [1, 1, 0]),
        (1, {"a": demand(starts=1, since=2), "b": demand(starts=1, since=1), "c": demand()}, [0, 1, 0]),
        (0, {"a": demand(starts=1), "b": demand(resumes=1), "c": demand()}, [0, 0, 0]),
        (-1, {"a": demand(starts=1), "b": demand(resumes=1), "c": demand()}, [0, 0, 0]),
        (9, {"a": demand(starts=1), "b": demand(resumes=1, starts=1), "c": demand()}, [1, 2, 0]),
    ],
)
def test_resumes_come_first_then_the_workflow_that_holds_fewest_then_the_one_that_waited_longest(
    free: int, demands: dict[str, Demand], expected: list[int]
) -> None:
    shares = divide(free, demands)
    assert [shares.get(key, 0) for key in "abc"] == expected


class Counted(Demand):
    """A demand that counts how often its total is read."""

    __slots__ = ()
    reads = 0

    @property
    def total(self) -> int:
        Counted.reads += 1
        return super().total


@pytest.mark.parametrize("free", [10_000, 4_000])
def test_the_division_does_not_pass_through_all_workflows_for_each_slot(free: int) -> None:
    Counted.reads = 0
    demands = {number: Counted(held=0, resumes=0, starts=5, since=number) for number in range(1_000)}
    shares = divide(free, demands)
    assert sum(shares.values()) == min(free, 5_000)
    assert Counted.reads < 20_000

"""How free slots of a pool are divided."""

import pytest
from torpor_operator.controller.fair_share import Claim, divided


def claim(*, held: int = 0, resumes: int = 0, starts: int = 0, since: float = 0.0) -> Claim:
    return Claim(held=held, resumes=resumes, starts=starts, since=since)


@pytest.mark.parametrize(
    ("free", "claims", "given"),
    [
        (3, {"a": claim(starts=10), "b": claim(starts=10, since=1), "c": claim(starts=10, since=2)}, [1, 1, 1]),
        (4, {"a": claim(starts=10), "b": claim(starts=1, since=1), "c": claim(starts=10, since=2)}, [2, 1, 1]),
        (2, {"a": claim(held=5, starts=10), "b": claim(starts=10, since=1), "c": claim()}, [0, 2, 0]),
        (2, {"a": claim(starts=10), "b": claim(held=9, resumes=1, since=1), "c": claim()}, [1, 1, 0]),
        (1, {"a": claim(starts=1, since=2), "b": claim(starts=1, since=1), "c": claim()}, [0, 1, 0]),
        (0, {"a": claim(starts=1), "b": claim(resumes=1), "c": claim()}, [0, 0, 0]),
        (-1, {"a": claim(starts=1), "b": claim(resumes=1), "c": claim()}, [0, 0, 0]),
        (9, {"a": claim(starts=1), "b": claim(resumes=1, starts=1), "c": claim()}, [1, 2, 0]),
    ],
)
def test_who_resumes_comes_first_then_who_holds_least_then_who_has_waited_longest(
    free: int, claims: dict[str, Claim], given: list[int]
) -> None:
    found = divided(free, claims)
    assert [found.get(key, 0) for key in "abc"] == given


class Counted(Claim):
    """A claim that counts how often its key in the order is asked for."""

    __slots__ = ()
    asked = 0

    @property
    def wants(self) -> int:
        Counted.asked += 1
        return super().wants


@pytest.mark.parametrize("free", [10_000, 4_000])
def test_a_thousand_workflows_are_not_gone_through_anew_for_each_slot(free: int) -> None:
    Counted.asked = 0
    claims = {number: Counted(held=0, resumes=0, starts=5, since=number) for number in range(1_000)}
    found = divided(free, claims)
    assert sum(found.values()) == min(free, 5_000)
    assert Counted.asked < 20_000

"""Whose request is served next, in virtual time."""

from torpor_expressions.fair_queue import FairQueue


def queue(servers: int = 2, budget: float = 10.0) -> FairQueue[str]:
    return FairQueue(servers=servers, budget=budget, cost_max=1.0)


def test_shares_take_turns_and_a_share_keeps_its_order() -> None:
    fair = queue(servers=4)
    for share, request in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2")):
        fair.put(share, request)
    taken = [fair.take(0.0) for _ in range(6)]
    assert [request for _, request in filter(None, taken)] == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert fair.take(0.0) is None


def test_who_used_least_is_first() -> None:
    fair = queue()
    for share, seconds in (("a", 5.0), ("b", 1.0)):
        fair.put(share, "x")
        assert fair.take(0.0) == (share, "x")
        fair.done(share, seconds, 0.0)
    fair.put("a", "a")
    fair.put("b", "b")
    assert fair.take(0.0) == ("b", "b")


def test_a_share_beyond_its_budget_leaves_a_server_free() -> None:
    fair = queue(servers=2, budget=10.0)
    for number in range(20):
        fair.put("loud", str(number))
    assert fair.take(0.0) is not None
    assert fair.take(0.0) is not None
    assert fair.done("loud", 12.0, 0.0)
    assert not fair.done("loud", 1.0, 0.0), "it has exceeded its budget once"
    assert fair.take(0.0) == ("loud", "2")
    assert fair.take(0.0) is None, "the last server is left for others"
    fair.put("quiet", "q")
    assert fair.take(0.0) == ("quiet", "q")
    fair.done("loud", 0.0, 0.0)
    assert fair.take(0.0) == ("loud", "3")


def test_a_server_serves_a_share_beyond_its_budget_if_no_other_waits() -> None:
    fair = queue(servers=1, budget=1.0)
    for number in range(3):
        fair.put("loud", str(number))
    fair.take(0.0)
    fair.done("loud", 50.0, 0.0)
    assert fair.take(0.0) == ("loud", "1")


def test_what_was_used_is_forgotten_within_two_windows() -> None:
    fair = queue(servers=2, budget=10.0)
    for request in ("1", "2", "3", "4"):
        fair.put("loud", request)
    fair.take(0.0)
    fair.done("loud", 1000.0, 0.0)
    assert fair.take(1.0) is not None
    assert fair.take(1.0) is None
    assert fair.take(61.0) == ("loud", "3"), "two budgets are remembered, and one is forgotten in a minute"


def test_nothing_is_kept_of_a_share_that_is_idle_and_forgotten() -> None:
    fair = queue()
    fair.put("a", "a")
    fair.take(0.0)
    fair.done("a", 1.0, 0.0)
    fair.put("b", "b")
    fair.take(600.0)
    fair.done("b", 0.0, 600.0)
    assert fair._shares == {}


def test_drained_requests_are_no_longer_handed_out() -> None:
    fair = queue()
    fair.put("a", "1")
    fair.put("b", "2")
    assert sorted(fair.drain()) == ["1", "2"]
    assert fair.take(0.0) is None

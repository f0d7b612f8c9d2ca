"""Pools of slots are read as the operator reads them."""

import pytest
from torpor_operator.workflows.slot_pools import capacities
from torpor_views.facts import Facts, parse_pools

DATA = {
    "gpu": "2",
    "gpu.deferred": "True",
    "db": " 3 ",
    "x": "many",
    "big": "1" * 12,
    "neg": "-1",
    "half": "1.5",
    "gpu.most": "5",
}


def test_pools_are_those_of_the_operator() -> None:
    ours = {name: (pool.slots, pool.deferred) for name, pool in parse_pools({"data": DATA}).items()}
    assert ours == {name: (pool.slots, pool.deferred) for name, pool in capacities(DATA).items()}
    assert ours == {"gpu": (2, True), "db": (3, False)}


@pytest.mark.parametrize("read", [{}, {"pods": None, "taskruns": None}])
def test_what_was_not_read_is_not_empty(read: dict[str, None]) -> None:
    facts = Facts.parse(**read)  # type: ignore[arg-type]
    assert (facts.pods, facts.pools, facts.others) == (None, None, None)
    assert Facts.parse(pods=[], taskruns=[], pools={}).pods == {}

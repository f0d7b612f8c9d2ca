"""What counts as progress after a leader's end, and how the rounds are told."""

import json

from benchmarks import failover
from benchmarks.failover import Creations, Takeover


async def test_a_pod_that_the_dead_leader_made_in_its_last_second_is_no_progress() -> None:
    created = Creations()
    await created.add("2026-11-21T12:00:04Z")
    await created.add("2026-11-21T12:00:05Z")
    await created.add("2026-11-21T12:00:17Z")
    died = 1795262405.4  # 12:00:05.4
    assert await created.after(died) == created.found[2][0]


def test_each_way_to_die_has_its_own_spread_and_says_who_leads() -> None:
    rounds = {
        "process": [Takeover(seconds=each, another=False) for each in (4.0, 2.0, 3.0)],
        "pod": [Takeover(seconds=15.5, another=True)],
    }
    told = failover.text(rounds)
    figures = json.loads(told.splitlines()[-1])
    assert figures["process"] == {"rounds": 3, "min_s": 2.0, "median_s": 3.0, "max_s": 4.0, "another": 0}
    assert figures["pod"]["another"] == 1
    assert "in 1 of 1" in told

"""What the pairs of the start bench come to, and how a way that the cluster does not support is reported."""

import json

from torpor_operator.settings import Injection

from benchmarks import start
from benchmarks.start import Pair


def test_the_difference_is_the_median_within_pairs_and_not_that_of_medians() -> None:
    pairs = [Pair(task=1.0, bare=0.9), Pair(task=3.0, bare=2.8), Pair(task=2.0, bare=1.0)]
    found = start.figures_of(pairs)
    assert (found["pairs"], found["task_ms"], found["bare_ms"], found["above_ms"]) == (3, 2000, 1000, 200)
    assert (found["task_min_ms"], found["bare_min_ms"]) == (1000, 900)


def test_a_way_without_support_has_its_reason_in_the_table_and_in_the_json() -> None:
    pairs = {way: [Pair(task=1.5, bare=1.0)] for way in (start.IMAGE, Injection.INIT_CONTAINER)}
    reason = "node n has containerd://1.6.20"
    told = start.text(pairs, {Injection.IMAGE_VOLUME: reason})
    table, figures = told.splitlines()[:-1], json.loads(told.splitlines()[-1])
    assert f"  image-volume         unsupported: {reason}" in table
    assert any("init-container" in line and "500 ms above (goal 600)" in line for line in table)
    assert figures["unsupported"] == {"image-volume": reason}
    assert figures["ways"]["init-container"]["above_ms"] == 500

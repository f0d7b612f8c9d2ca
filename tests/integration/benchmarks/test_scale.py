"""The scale bench with few waits: no process changes the copies, and each figure is reported once."""

import math
from collections import Counter

import pytest

from benchmarks.scale.__main__ import measure
from benchmarks.scale.sizes import Sizes
from benchmarks.triggerer.figures import Figure

_SIZES = Sizes(waits=200, workflows=4, namespaces=2, instances=20, tasks=10, fires=10, duration="1s", rest=3.0)
_FOR_SIZING = {
    *(f"{name}_{part}" for name in ("beside", "wait") for part in ("api_server", "etcd", "operator")),
    *(f"{name}_{part}" for name in ("pss", "empty") for part in ("leader", "kube-apiserver")),
    "etcd_taskrun",
}
_WARM = 8
"""TaskRuns of the run with which the bench begins."""


@pytest.mark.long
async def test_the_bench_measures_waits_that_the_operator_and_the_triggerers_take_for_their_own() -> None:
    found: list[Figure] = []
    await measure(found, _SIZES)
    assert [name for name, count in Counter(one.name for one in found).items() if count > 1] == []
    figures = {one.name: one for one in found}
    assert figures.keys() >= _FOR_SIZING
    assert figures["rest_writes"].value == 0, figures["rest_writes"].aside
    assert all(math.isfinite(one.value) for one in found)
    assert f"{_SIZES.all_waits + _WARM} TaskRuns" in figures["pages"].what
    assert figures["kubectl_workflow"].aside.startswith(f"{_SIZES.each} lines")
    assert f"all {_SIZES.all_waits} waits" in figures["triggerer_failover"].what
    assert {"etcd_waiting", "etcd_deferring", "etcd_large"} <= figures.keys()

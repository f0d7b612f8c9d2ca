"""docs/operations/sizing.md has the tables that the measured figures give, by arithmetic that these cases check."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scale import sizing
from benchmarks.scale.sizing import CLUSTERS, Costs, CpuEach, HourlyLoad, SizedCluster

_PAGE = Path(__file__).resolve().parents[4] / "docs/operations/sizing.md"
COSTS = Costs(
    task=CpuEach(api_server=30.0, etcd=4.0, operator=5.0),
    run=CpuEach(api_server=40.0, etcd=5.0, operator=10.0),
    wait=CpuEach(api_server=10.0, etcd=2.0, operator=2.0),
    wait_kb=3.0,
    operator_base=90.0,
    operator_wait=8.0,
    server_base=300.0,
    server_wait=30.0,
    fires=200.0,
)


def test_twice_the_cores_carry_twice_the_tasks() -> None:
    cluster = SizedCluster(name="", servers=1, cores=2)
    assert cluster.rate(COSTS.task) == pytest.approx(1000 * 2 * 0.5 / 34.0)
    assert replace(cluster, cores=4).rate(COSTS.task) == pytest.approx(2 * cluster.rate(COSTS.task))


def test_further_api_servers_cost_watch_caches_and_etcd_members() -> None:
    three = SizedCluster(name="", servers=3, cores=16)
    assert three.control_plane(COSTS.task) == pytest.approx(30.0 * (1 + 2 * sizing.WATCH_CACHE_SHARE) + 3 * 4.0)


def test_the_operator_limits_a_cluster_with_many_cores() -> None:
    assert "(operator)" in sizing.capacity(COSTS, [SizedCluster(name="", servers=1, cores=200)])
    assert "(operator)" not in sizing.capacity(COSTS, [SizedCluster(name="", servers=1, cores=1)])


def test_a_load_needs_the_sum_of_its_parts() -> None:
    load = HourlyLoad(tasks=36_000, fires=7_200, waits=1_024, kept=2.0)
    assert sizing.operator_cores(COSTS, load) == pytest.approx(10 * 5.0 / 1000 + 2 * 2.0 / 1000)
    assert sizing.cores(COSTS, CLUSTERS[0], load) == pytest.approx((10 * 34.0 + 2 * 12.0) / 1000)
    finished = 43_200 * 2.0
    assert sizing.etcd_mb(COSTS, load) == pytest.approx((1_024 * 3.0 + finished * sizing.FINISHED_KB) / 1000)
    held = 90.0 + (1_024 * 8.0 + finished * sizing.OPERATOR_FINISHED_KIB) / 1024
    assert sizing.operator_memory(COSTS, load) == pytest.approx(held)


@pytest.mark.parametrize(("waits", "fires", "count"), [(1_000, 0, 2), (20_001, 0, 3), (1_000, 720_001, 4)])
def test_one_triggerer_can_be_lost(waits: int, fires: int, count: int) -> None:
    assert sizing.replicas(COSTS, HourlyLoad(tasks=0, fires=fires, waits=waits)) == count


@pytest.mark.parametrize(("value", "shown"), [(123_456.0, "120,000"), (98.7, "99"), (1.23, "1")])
def test_computed_figures_have_two_digits(value: float, shown: str) -> None:
    assert sizing._about(value) == shown


@pytest.mark.parametrize("table", [sizing.capacity, sizing.requirements])
def test_the_page_has_the_tables_that_the_figures_give(table: Any) -> None:
    assert table(Costs.read()) in _PAGE.read_text(), "run `python -m benchmarks.scale.sizing`, and put its tables there"

"""What the comparison of sensors reads, reckons and draws."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from sensors.key import KeySensor
from sensors.store import Store
from torpor import testing

from benchmarks import cgroups, chart, samples, sensors
from benchmarks.cgroups import Usage
from benchmarks.samples import MIB, Run, Sample

_UID = "1aea4fee-4e3b-4c64-9bf1-85e62545a923"
_SLICE = f"kubelet-kubepods-burstable-pod{_UID.replace('-', '_')}.slice"
_SVG = "{http://www.w3.org/2000/svg}"


def sample(seconds: float, **over: Any) -> Sample:
    return Sample(**dict.fromkeys(Sample.__slots__, 0) | {"seconds": seconds} | over)


def blocking() -> Run:
    """Ten pods from second 10 on, each a tenth of a core and 10 MiB; the wait is over at 100."""
    taken = [
        sample(float(at), running=10, tasks_cpu=float(at), tasks_memory=100 * MIB, operator_memory=50 * MIB)
        for at in range(10, 112, 2)
    ]
    return Run(
        sensor="blocking",
        waits=10,
        pods=10,
        opened=100,
        ended=105,
        samples=[sample(0), *taken, sample(112, tasks_cpu=110)],
    )


@pytest.mark.parametrize(
    "lines",
    [
        [
            f"/sys/fs/cgroup/cpuacct/kubelet.slice/{_SLICE}/cpuacct.usage:1794636417",
            f"/sys/fs/cgroup/memory/kubelet.slice/{_SLICE}/memory.usage_in_bytes:5000",
            f"/sys/fs/cgroup/memory/kubelet.slice/{_SLICE}/memory.stat:inactive_file 7",
            f"/sys/fs/cgroup/memory/kubelet.slice/{_SLICE}/memory.stat:total_inactive_file 1000",
        ],
        [
            f"/sys/fs/cgroup/kubelet/kubepods/besteffort/pod{_UID}/cpu.stat:usage_usec 1794636",
            f"/sys/fs/cgroup/kubelet/kubepods/besteffort/pod{_UID}/memory.current:5000",
            f"/sys/fs/cgroup/kubelet/kubepods/besteffort/pod{_UID}/memory.stat:inactive_file 1000",
        ],
    ],
    ids=["cgroup v1, systemd", "cgroup v2, cgroupfs"],
)
def test_a_pods_usage_is_read_from_either_version_of_cgroups(lines: list[str]) -> None:
    found = cgroups.parse([*lines, "/sys/fs/cgroup/memory/kubelet.slice/memory.stat:inactive_file 1"])
    (used,) = found.values()
    assert set(found) == {_UID}
    assert (round(used.cpu, 3), used.memory) == (1.795, 4000)


class Played:
    """A node that plays given samples."""

    def __init__(self, *played: dict[str, Usage]) -> None:
        self._played = list(played)

    async def sample(self) -> dict[str, Usage]:
        return self._played.pop(0)


async def test_a_pod_that_is_gone_has_used_what_it_used_and_holds_nothing() -> None:
    meter = cgroups.Meter([Played({"a": Usage(cpu=1, memory=7)}, {"b": Usage(cpu=2, memory=5)})])
    for _ in range(2):
        await meter.look()
    assert meter.cpu(["a", "b", "unseen"]) == 3
    assert meter.memory(["a", "b", "unseen"]) == 5


def test_the_figures_tell_what_was_held_while_all_waited_from_what_the_run_came_to() -> None:
    found = samples.figures(blocking())
    assert found["while_waiting"] == {
        "running_pods": [10],
        "deferred": [0],
        "cores": pytest.approx(1),
        "tasks_mib": 100,
        "triggerer_mib": 0,
        "operator_mib": 50,
    }
    assert (found["pods_at_most"], found["tasks_cpu_seconds"], found["memory_at_most_mib"]) == (10, 110, 150)
    assert found["pod_seconds"] == 10 * 100 + 10 * 10 / 2 + 10 * 2 / 2


def test_samples_are_read_as_they_were_written() -> None:
    run = blocking()
    assert samples.read(samples.written([run]), "blocking") == list(run.samples)
    assert samples.read(samples.written([run]), "deferrable") == []


def test_processor_time_is_drawn_as_cores() -> None:
    assert [value for at, value in samples.cores(blocking().samples) if 22 < at < 100] == [pytest.approx(1)] * 38


@pytest.mark.parametrize(
    ("top", "steps"), [(100, [0, 20, 40, 60, 80, 100]), (0.34, [0, 0.1, 0.2, 0.3, 0.4]), (7, [0, 2, 4, 6, 8])]
)
def test_an_axis_has_round_numbers_up_to_what_there_is(top: float, steps: list[float]) -> None:
    assert chart.ticks(top) == steps


def test_the_picture_has_a_line_for_each_sensor_in_each_panel_and_one_for_waits_and_none_leaves_it() -> None:
    runs = {
        "blocking": list(blocking().samples),
        "deferrable": [sample(0), sample(50, deferred=10), sample(120, triggerer_cpu=3)],
    }
    drawn = ET.fromstring(sensors.picture(runs, waits=10, opened=100))
    lines = drawn.findall(f"{_SVG}polyline")
    assert len(lines) == 2 * 3 + 1
    _, _, width, height = map(float, drawn.attrib["viewBox"].split())
    points = [tuple(map(float, point.split(","))) for line in lines for point in line.attrib["points"].split()]
    assert all(
        chart.LEFT <= x <= width - chart.RIGHT and chart.HEAD - 0.1 <= y <= height - chart.FOOT for x, y in points
    )


def test_both_runs_are_the_examples_workflow_but_for_what_its_sensor_is_told() -> None:
    one, other = sensors.spec("blocking", 100), sensors.spec("deferrable", 100)
    assert len(one["params"]["keys"]) == one["parallelism"] == 100
    assert [task["args"].pop("deferrable") for each in (one, other) for task in each["tasks"]] == [False, True]
    assert one == other


@contextmanager
def store(after: float) -> Iterator[str]:
    """A store whose keys come to be after so many seconds; gives the url of one."""
    with Store(0, time.monotonic() + after) as serving:
        thread = Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/a"
        serving.shutdown()
        thread.join()


def test_the_examples_sensor_gives_its_pod_back_to_a_trigger_that_looks_for_the_same() -> None:
    with store(after=60) as url:
        found = testing.run(KeySensor, {"url": url, "poke_interval": 10, "timeout": "1h"}, events=[{"status": 200}])
    (wait,) = found.deferrals
    assert (wait.class_name, wait.kwargs, wait.timeout) == ("http", {"url": url, "interval": 10}, 3600)
    assert found.result == url


def test_the_examples_sensor_looks_in_its_own_pod_where_it_is_told_to() -> None:
    with store(after=0.05) as url:
        found = testing.run(KeySensor, {"url": url, "poke_interval": 0.02, "deferrable": False})
    assert (found.result, found.deferrals) == (url, ())


def test_what_is_there_already_is_not_waited_for() -> None:
    with store(after=0) as url:
        assert testing.run(KeySensor, {"url": url}).deferrals == ()

"""The example, as the README's first command runs it, against an independent count of the same image's packages."""

import asyncio
import json

from torpor_dev import command
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import example
from tests.e2e.support.stage import ClusterFixture

_COUNT = "dpkg-query -W -f '${db:Status-Status} ${Section} ${Installed-Size}\\n'"


def counted() -> dict[str, tuple[int, int]]:
    """Packages and bytes of each section, as dpkg itself counts them in the image."""
    listed = command.run("docker", "run", "--rm", "--entrypoint", "sh", "census:dev", "-c", _COUNT, limit=60)
    sizes: dict[str, tuple[int, int]] = {}
    for line in listed.splitlines():
        status, section, size = line.split(" ")
        if status == "installed":
            name = section.rpartition("/")[2]
            packages, total = sizes.get(name, (0, 0))
            sizes[name] = packages + 1, total + int(size) * 1024
    return sizes


async def test_the_example_counts_what_dpkg_counts_and_one_count_deferred(stage: ClusterFixture) -> None:
    await stage.start("census", example())
    workflow = await stage.ended("census")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    independent = await asyncio.to_thread(counted)
    (clock,) = await stage.taskruns("census", "clock")
    measured = await stage.taskruns("census", "measure")
    (reported,) = await stage.taskruns("census", "report")

    assert (clock.status.state, clock.status.pod) == (State.SUCCEEDED, None)
    assert [run.status.segment for run in measured].count(1) == 1

    rows = [json.loads(run.status.result or "") for run in measured]
    largest = sorted(independent, key=lambda section: (-independent[section][0], section))[: len(rows)]
    assert [(row["section"], row["packages"], row["bytes"]) for row in rows] == [
        (section, *independent[section]) for section in largest
    ]
    report = json.loads(reported.status.result or "")
    assert report["packages"] == sum(independent[section][0] for section in largest)
    assert report["bytes"] == sum(independent[section][1] for section in largest)

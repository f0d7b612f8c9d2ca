"""Logs that outlive their pods, on real nodes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.resources import PODS
from torpor_wire.state import State

from tests.e2e.support.archive_reader import ArchiveReader, reading
from tests.e2e.support.concurrent_runs import Spec, container, python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_STOPPED = "trap 'echo stopping; exit 1' TERM; echo started; sleep 300 & wait"
_OUT_OF_MEMORY = "echo filling; exec tail /dev/zero"


@pytest_asyncio.fixture(loop_scope="session")
async def reader(stage: ClusterFixture, kubectl: Kubectl) -> AsyncIterator[ArchiveReader]:
    async with reading(kubectl, stage.namespace) as made:
        yield made


async def kept(stage: ClusterFixture, reader: ArchiveReader, count: int, query: str = "") -> list[dict[str, Any]]:
    """The entries of the run, once there are so many and all are settled."""
    uid = (await stage.workflow("w")).metadata.uid
    path = f"{stage.namespace}/runs/{uid}/logs{query}"

    async def settled() -> list[dict[str, Any]] | None:
        items = list((await reader.json(path))["items"])
        done = len(items) >= count and all(entry["state"] != "Pending" for entry in items)
        return items if done else None

    return await stage.until(settled, TIMEOUT, f"{count} logs")


async def text(stage: ClusterFixture, reader: ArchiveReader, entry: dict[str, Any]) -> str:
    return await reader.text(f"{stage.namespace}/logs/{entry['id']}")


async def has_logged(stage: ClusterFixture, line: str) -> None:
    """Wait until the only pod of the namespace has written a line."""

    async def logged() -> bool | None:
        (pod,) = (await stage.api.list(PODS, stage.namespace)).items
        return True if line in await stage.log(pod["metadata"]["name"]) else None

    await stage.until(logged, TIMEOUT, f"the line {line!r}")


async def run(stage: ClusterFixture, made: Spec) -> None:
    await stage.start("w", made)
    await stage.ended("w")


async def test_logs_of_python_and_container_tasks_outlive_their_deleted_pods(
    stage: ClusterFixture, reader: ArchiveReader
) -> None:
    tasks = (python("bad", "broken"), container("box", "echo hello from the box; exit 3"))
    await run(stage, spec(*tasks, podsTTL="0s"))
    entries = {entry["task"]: entry for entry in await kept(stage, reader, 2)}

    async def no_pods() -> bool | None:
        return None if (await stage.api.list(PODS, stage.namespace)).items else True

    await stage.until(no_pods, TIMEOUT, "the pods to go")
    assert {entry["state"] for entry in entries.values()} == {"Kept"}
    assert "hello from the box" in await text(stage, reader, entries["box"])
    assert (entries["box"]["reason"], entries["box"]["message"]) == ("Error", "exit code 3")
    assert "Traceback" in await text(stage, reader, entries["bad"])


async def test_an_out_of_memory_kill_keeps_what_was_written(stage: ClusterFixture, reader: ArchiveReader) -> None:
    limited = {"resources": {"limits": {"memory": "32Mi"}}}
    await run(stage, spec(container("greedy", _OUT_OF_MEMORY, pod=limited)))
    (entry,) = await kept(stage, reader, 1)
    assert (entry["message"], entry["failed"]) == ("exit code 137", True)
    assert entry["reason"] in {"OOMKilled", "Error"}  # containerd may learn of the kill after the end
    assert "filling" in await text(stage, reader, entry)


async def test_a_launch_that_fails_says_why(stage: ClusterFixture, reader: ArchiveReader) -> None:
    task = container("box", "true") | {"container": {"command": ["/no/such/program"]}}
    await run(stage, spec(task))
    (entry,) = await kept(stage, reader, 1)
    assert (entry["state"], entry["reason"], entry["size"]) == ("Kept", "StartError", 0)
    assert "/no/such/program" in entry["message"]


async def test_a_pod_that_is_deleted_while_it_runs_keeps_its_log(stage: ClusterFixture, reader: ArchiveReader) -> None:
    await stage.start("w", spec(container("box", _STOPPED)))
    await stage.reached("w", "box", State.RUNNING)
    await has_logged(stage, "started")
    await stage.edit("w", "cancel", value=True)
    await stage.ended("w")
    (entry,) = await kept(stage, reader, 1)
    lines = await text(stage, reader, entry)
    assert entry["state"] == "Kept"
    assert "started" in lines
    assert "stopping" in lines


async def test_a_container_that_starts_while_its_pod_is_deleted_keeps_its_log(
    stage: ClusterFixture, reader: ArchiveReader
) -> None:
    await stage.start("w", spec(container("box", _STOPPED)))
    await stage.reached("w", "box", State.RUNNING)  # for a container task, the creation of the pod
    await stage.edit("w", "cancel", value=True)
    await stage.ended("w")
    (entry,) = await kept(stage, reader, 1)
    lines = await text(stage, reader, entry)
    assert entry["state"] == "Kept"
    assert "started" in lines or entry["reason"] != "Error"  # the kubelet may end the pod before the container starts


async def test_failed_keeps_only_the_logs_of_failures(stage: ClusterFixture, reader: ArchiveReader) -> None:
    tasks = (container("good", "echo good"), container("bad", "echo bad; exit 1", after=["good"]))
    await run(stage, spec(*tasks, logs="failed"))
    assert [entry["task"] for entry in await kept(stage, reader, 1)] == ["bad"]


async def test_a_wait_without_lines_has_no_entry(stage: ClusterFixture, reader: ArchiveReader) -> None:
    await run(stage, spec(wait("short", "1s"), container("box", "true", after=["short"])))
    assert [entry["kind"] for entry in await kept(stage, reader, 1)] == ["pod"]

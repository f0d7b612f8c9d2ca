"""The result of a run in a run that is in the archive: its task gets a copy, which the archive makes."""

import json
from typing import Any

import pytest
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_kubernetes.client.resources import WORKFLOWS

from tests.support.triggerer_fixture import TriggererFixture, UploadArchive, start_with_wait, triggerer_fixture

_STORED = {"size": 9000, "digest": "d" * 64, "type": "list", "length": 300}
_KWARGS = {"name": "child", "state": "succeeded", "whole": True}
_RUN = {
    "run": {"template": "load", "depth": 1, "root": "r"},
    "trigger": {"class": "workflow"},
    "result": "has(event.result) ? event.result : null",
}


class CopyingArchive(UploadArchive):
    """An archive that answers from a list when the result of a run is to be copied."""

    def __init__(self, *answers: tuple[int, dict[str, Any]]) -> None:
        super().__init__()
        self.copies = list(answers)

    async def post_json(self, endpoint: ArchiveEndpoint, path: str, body: Any) -> ArchiveResponse:
        if "/run-result/" not in path:
            return await super().post_json(endpoint, path, body)
        self.requests.append(path)
        status, copied = self.copies.pop(0)
        return ArchiveResponse(status, json.dumps(copied).encode())


async def wait_for_run(
    world: TriggererFixture, *answers: tuple[int, dict[str, Any]], spec: dict[str, Any] | None = None
) -> None:
    """A wait for a run that has succeeded with a result in the archive, which gives these answers."""
    world.archive = CopyingArchive(*answers)
    condition = {"type": "Succeeded", "status": "True"}
    status = {"state": "Succeeded", "conditions": [condition], "stored": _STORED | {"taskRun": "child-a", "uid": "u"}}
    world.fake.put(WORKFLOWS, {"metadata": {"name": "child", "namespace": "workflows"}, "status": status})
    await start_with_wait(world, "a", "workflow", _KWARGS, spec=_RUN if spec is None else spec)


async def test_a_task_has_the_result_of_its_run_from_the_archive() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await wait_for_run(world, (201, _STORED | {"keys": None, "name": None}))
        status = world.status("a")
        assert (status["state"], status["stored"], "result" in status) == ("Succeeded", _STORED, False)
        assert "/v1/namespaces/workflows/taskruns/a/run-result/child" in world.archive.requests


async def test_a_copy_is_tried_again_while_the_archive_is_away() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await wait_for_run(world, (503, {"message": "the database is away"}), (201, _STORED))
        await world.pass_time(5)
        assert world.status("a")["stored"] == _STORED


async def test_a_result_that_is_not_copied_fails_the_task() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await wait_for_run(world, (404, {"message": "the archive has no result of Workflow child any more"}))
        assert world.state_and_reason("a") == ("Failed", "ResultNotStored")
        assert "has no result of Workflow child any more" in world.status("a")["message"]


async def test_a_result_in_an_archive_that_was_removed_fails_the_task() -> None:
    async with triggerer_fixture() as world:
        await wait_for_run(world)
        assert "is in the archive; no archive is installed" in world.status("a")["message"]


@pytest.mark.attack
async def test_only_the_task_of_a_run_asks_for_a_copy() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await wait_for_run(world, spec={"trigger": {"class": "workflow"}, "result": "event.truncated"})
        assert world.status("a")["result"] == "true"
        assert not [path for path in world.archive.requests if "run-result" in path]

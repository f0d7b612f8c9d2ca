"""A run whose process was killed goes on from its folder; a folder has one run and one process."""

import asyncio
from pathlib import Path

import pytest
from torpor_kubernetes.client.resources import PODS
from torpor_local import engine, journal
from torpor_local.apiserver.history import ObjectChange
from torpor_local.apiserver.objects import ObjectRegistry
from torpor_local.options import LocalRunError
from torpor_wire import constants

from tests.unit.local.local_runs import Changes, created, killed_when, options, play, workflow

ADD = {"name": "one", "python": "local_tasks:add"}


async def test_a_killed_run_goes_on_and_starts_a_lost_pod_again(tmp_path: Path) -> None:
    first, slow = tmp_path / "first", tmp_path / "slow"
    tasks = [
        {"name": "first", "python": "local_tasks:append", "args": {"path": str(first)}},
        {"name": "slow", "python": "local_tasks:slow_at_first", "after": ["first"], "args": {"path": str(slow)}},
    ]
    await killed_when(slow, tmp_path, *tasks)
    seen = Changes()
    outcome = await engine.play([], options(tmp_path, resume=True), seen)
    assert (outcome.state, outcome.results["slow"]) == ("Succeeded", "again")
    assert first.read_text() == "1"
    assert seen.states_of("slow") == ["Running", "Scheduled", "Running", "Succeeded"]


async def test_an_ended_run_is_resumed_with_its_outcome(tmp_path: Path) -> None:
    first = await play(tmp_path, ADD)
    again = await engine.play([], options(tmp_path, resume=True), Changes())
    assert (again.state, again.results) == (first.state, first.results)


async def test_two_runs_cannot_have_one_folder_at_once(tmp_path: Path) -> None:
    slow = {"name": "slow", "python": "local_tasks:sleep", "args": {"seconds": 20}}
    running = asyncio.create_task(play(tmp_path, slow))
    await created(tmp_path / "run" / "state.jsonl")
    with pytest.raises(LocalRunError, match="another local run uses the folder"):
        await engine.play([workflow(ADD)], options(tmp_path), Changes())
    running.cancel()
    assert (await running).reason == "Cancelled"


async def test_a_second_run_needs_another_folder(tmp_path: Path) -> None:
    await play(tmp_path, ADD)
    with pytest.raises(LocalRunError, match="has a run already"):
        await play(tmp_path, ADD)


async def test_a_folder_without_a_run_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(LocalRunError, match="no run to resume"):
        await engine.play([], options(tmp_path, resume=True), Changes())


@pytest.mark.parametrize("bound", [False, True])
async def test_a_run_of_a_version_whose_pods_cannot_start_is_not_resumed(tmp_path: Path, bound: bool) -> None:
    await play(tmp_path, ADD)
    env = [{"name": constants.ENV_LAUNCH, "value": "1"}]
    spec = {"containers": [{"name": "main", "env": env}], **({"nodeName": "local"} if bound else {})}
    metadata = {"name": "old-a1-s0", "namespace": "default", "uid": "1234567890abcdef"}
    pod = {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
    with journal.Journal.open(tmp_path / "run" / "state.jsonl") as recorded:
        address = ObjectRegistry.address(PODS, "default", "old-a1-s0")
        recorded.change(ObjectChange(version=10**6, address=address, before=None, after=pod))
    resumed = engine.play([], options(tmp_path, resume=True), Changes())
    if bound:  # it counts as lost, so the operator creates another one
        assert (await resumed).succeeded
        return
    with pytest.raises(LocalRunError, match="is of an earlier version, and this one cannot start its pod old-a1-s0"):
        await resumed


async def test_the_journal_has_the_last_version_of_each_object(tmp_path: Path) -> None:
    outcome = await play(tmp_path, ADD)
    saved = journal.read(tmp_path / "run" / "state.jsonl")
    assert saved is not None
    assert saved.of_kind("Workflow") == [outcome.workflow]
    assert saved.of_kind("TaskRun") == outcome.objects["TaskRun"]


def test_an_incomplete_last_line_of_the_journal_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    path.write_text('{"workflow":["default","run"]}\n{"offset":5.0}\n{"off')
    saved = journal.read(path)
    assert saved is not None
    assert (saved.workflow, saved.offset) == (("default", "run"), 5.0)


def test_a_resumed_run_does_not_continue_an_incomplete_line_of_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    path.write_text('{"workflow":["default","run"]}\n{"off')
    with journal.Journal.open(path) as recorded:
        recorded.offset(5.0)
    saved = journal.read(path)
    assert saved is not None
    assert saved.offset == 5.0


def test_a_line_of_the_journal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    path.write_text('{"workflow": ["default", "w"]}\nnonsense\n')
    with pytest.raises(LocalRunError, match=r"line 2 of .*state\.jsonl cannot be read"):
        journal.read(path)

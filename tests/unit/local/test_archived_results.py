"""Results in the archive of a run are part of its outcome, unless they are enormous."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from torpor_local import archived_results, outcome
from torpor_local.folder import archive_file

from tests.unit.local.local_runs import play


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("list", b'1\n"a"\n[2]\n', [1, "a", [2]]),
        ("list", b"", []),
        ("object", b'["a",1]\n["b",[2]]\n', {"a": 1, "b": [2]}),
        ("string", b'"text"', "text"),
    ],
)
def test_a_body_is_the_value_of_its_type(kind: str, body: bytes, expected: Any) -> None:
    assert archived_results.value_of(kind, body) == expected


async def test_large_values_of_any_type_are_results(tmp_path: Path) -> None:
    ended = await play(
        tmp_path,
        {"name": "text", "python": "local_tasks:large_text", "args": {"size": 10_000}},
        {"name": "rows", "python": "local_tasks:large_object", "args": {"size": 1_000}},
        {"name": "each", "python": "local_tasks:large", "expand": [{"name": "size", "over": [200, 1, 300]}]},
        {"name": "raw", "python": "local_tasks:large_bytes", "args": {"size": 10}},
        jobs=2,
    )
    assert ended.results["text"] == "é" * 10_000
    assert ended.results["rows"] == {f"key {number}": number for number in range(1_000)}
    assert [len(result) for result in ended.results["each"]] == [200, 1, 300]
    assert (ended.results["raw"]["type"], ended.results["raw"]["size"]) == ("bytes", 10)
    described = outcome.build(ended.workflow, ended.objects)
    assert described.results["text"]["type"] == "string"


async def test_the_smallest_results_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archived_results, "TOTAL_MAX", 60_000)
    task = {"name": "each", "python": "local_tasks:large", "expand": [{"name": "size", "over": [900, 100, 200]}]}
    ended = await play(tmp_path, task)
    assert ended.results["each"][0]["type"] == "list"
    assert [len(result) for result in ended.results["each"][1:]] == [100, 200]


async def test_a_run_that_is_interrupted_while_its_archive_is_read_has_ended(tmp_path: Path) -> None:
    task = {"name": "text", "python": "local_tasks:large_text", "args": {"size": 10_000}}
    ended = outcome.build((first := await play(tmp_path, task)).workflow, first.objects)
    reading = asyncio.create_task(outcome.with_archived(ended, archive_file(tmp_path / "run")))
    await asyncio.sleep(0)
    reading.cancel()
    assert await reading == ended


async def test_a_run_whose_archive_was_deleted_has_descriptions(tmp_path: Path) -> None:
    task = {"name": "text", "python": "local_tasks:large_text", "args": {"size": 10_000}}
    ended = outcome.build((first := await play(tmp_path, task)).workflow, first.objects)
    again = await outcome.with_archived(ended, tmp_path / "no-archive.db")
    assert again.results["text"]["type"] == "string"
    assert not (tmp_path / "no-archive.db").exists()

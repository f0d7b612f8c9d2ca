"""`file`: what it takes, what it finds, and that nothing outside its folders can be seen through it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from torpor.triggers import File
from torpor.triggers.support import file_access
from torpor_wire import canonical, times

from tests.support import trigger_services


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The one that is open; beside it lies another."""
    (tmp_path / "data/in").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("k")
    return tmp_path / "data"


def touch(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(pattern: str, folder: Path) -> list[str]:
    return [
        str(Path(match.path).relative_to(folder)) for match in file_access.matching(f"{folder}/{pattern}", str(folder))
    ]


def test_only_what_differs_from_the_defaults_is_stored_and_read_back() -> None:
    assert File("/data/a", interval="5s").serialize() == ("file", {"path": "/data/a"})
    name, kwargs = File("/data/*.csv", count=3, interval="1m").serialize()
    assert (name, kwargs) == ("file", {"path": "/data/*.csv", "count": 3, "interval": 60.0})
    assert File(**json.loads(json.dumps(kwargs))).serialize() == (name, kwargs)


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"path": 7}, TypeError, "path must be text"),
        ({"path": ""}, ValueError, "path has 0 characters"),
        ({"path": "/data/a\nb"}, ValueError, "not printable"),
        ({"count": 0}, ValueError, "count is 0"),
        ({"count": True}, TypeError, "count must be an integer"),
        ({"interval": 0}, ValueError, "interval is 0 seconds"),
        ({"settle": -1}, ValueError, "settle is -1 seconds"),
        ({"cursor": "x"}, ValueError, "neither a time nor the cursor of an event"),
    ],
)
def test_what_makes_no_sense_is_refused(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        File(**{"path": "/data/a", **kwargs})


@pytest.mark.parametrize("path", ["/etc/passwd", "/data/../etc/passwd", "/database/x", "data/x", "/data/a/../b"])
def test_a_path_outside_the_open_folders_is_refused_where_it_would_run(path: str) -> None:
    with pytest.raises(ValueError, match=r"is in no folder|not an absolute path"):
        File(path).bind(trigger_services.services(folders=("/data",)))


def test_without_an_open_folder_it_says_who_can_open_one() -> None:
    with pytest.raises(ValueError, match=r"it allows none \(--folder\)"):
        File("/data/a").bind(trigger_services.services())


def test_a_folder_may_be_of_each_namespace_its_own() -> None:
    open_to_each = ("/data/{namespace}",)
    File("/data/team-a/x").bind(trigger_services.services(folders=open_to_each, namespace="team-a"))
    with pytest.raises(ValueError, match="/data/team-a/x"):
        File("/data/team-a/x").bind(trigger_services.services(folders=open_to_each, namespace="team-b"))


def test_patterns_are_a_shells(folder: Path) -> None:
    for name in ("in/a.csv", "in/b.csv", "in/.hidden.csv", "in/deep/c.csv", "in/deep/.git/d.csv", "e.txt"):
        touch(folder / name)
    assert names("in/*.csv", folder) == ["in/a.csv", "in/b.csv"]
    assert names("in/.*.csv", folder) == ["in/.hidden.csv"]
    assert names("**/*.csv", folder) == ["in/a.csv", "in/b.csv", "in/deep/c.csv"]
    assert names("**/**/[ac].csv", folder) == ["in/a.csv", "in/deep/c.csv"]
    assert names("in/?.csv", folder) == ["in/a.csv", "in/b.csv"]
    assert names("e.txt", folder) == ["e.txt"]
    assert names("in", folder) == names("none/*", folder) == names("e.txt/*", folder) == []


def test_no_link_leads_out_of_the_folder(folder: Path) -> None:
    touch(folder / "in/real")
    (folder / "in/key").symlink_to(folder.parent / "secret/key")
    (folder / "in/relative").symlink_to("../../secret/key")
    (folder / "out").symlink_to(folder.parent / "secret")
    (folder / "in/inside").symlink_to("real")
    (folder / "in/round").symlink_to("round")
    (folder / "in/loop").symlink_to(folder)
    assert names("in/*", folder) == ["in/inside", "in/real"]
    assert names("out/*", folder) == names("out/key", folder) == []
    assert names("**/key", folder) == []
    with pytest.raises(PermissionError, match="is outside of"):
        file_access.real(f"{folder}/in/key", str(folder))


def test_a_folder_that_is_itself_a_link_is_open(folder: Path) -> None:
    touch(folder / "in/a")
    (folder.parent / "mounted").symlink_to(folder)
    assert [
        match.path for match in file_access.matching(f"{folder.parent}/mounted/in/*", f"{folder.parent}/mounted")
    ] == [f"{folder.parent}/mounted/in/a"]


def test_no_pattern_scans_a_whole_volume(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "ENTRIES_MAX", 10)
    for number in range(11):
        touch(folder / f"in/{number}")
    with pytest.raises(ValueError, match="more than 10 entries"):
        names("**/1", folder)


def test_names_of_any_length_stay_within_the_memory_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "NAMES_MAX", 1000)
    for number in range(5):
        touch(folder / f"in/{number:0200}")
    with pytest.raises(ValueError, match="more than 1000 characters of paths"):
        names("in/*", folder)


async def test_it_waits_until_there_are_enough_and_says_how_many_there_are(folder: Path) -> None:
    trigger = File(f"{folder}/in/*.csv", count=2, interval=0.1)
    async with trigger_services.waiting(trigger, folders=(str(folder),)) as wait:
        await trigger_services.looked(trigger, "0 of 2 files match")
        first = touch(folder / "in/a.csv", "abc")
        os.utime(first, (1_700_000_000.5, 1_700_000_000.5))
        await trigger_services.looked(trigger, "1 of 2 files match")
        touch(folder / "in/b.csv")
        event = await wait
    assert event["count"] == 2
    assert event["files"][0] == {"path": str(first), "size": 3, "mtime": times.rfc3339(1_700_000_000.5)}


async def test_an_event_of_many_files_has_the_first_and_says_so(folder: Path) -> None:
    for number in range(200):
        touch(folder / f"in/{number:03}")
    event = await trigger_services.event(File(f"{folder}/in/*"), folders=(str(folder),))
    assert event["count"] == 200
    assert event["truncated"] is True
    assert event["files"][0]["path"].endswith("/in/000")
    assert 20 < len(event["files"]) < 200
    assert len(canonical.plain(event).encode()) <= 4096


async def test_a_folder_that_cannot_be_read_is_not_there_yet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: str) -> Any:
        raise PermissionError(13, "Permission denied", path)

    trigger = File(f"{folder}/in/*", interval=0.1)
    monkeypatch.setattr(os, "scandir", denied)
    async with trigger_services.waiting(trigger, folders=(str(folder),)) as wait:
        await trigger_services.looked(trigger, "cannot be read: Permission denied")
        monkeypatch.undo()
        touch(folder / "in/a")
        assert (await wait)["count"] == 1


async def test_each_file_fires_once_in_the_order_of_modification(folder: Path) -> None:
    start = 1_700_000_000
    for number in range(90):
        os.utime(touch(folder / f"in/{number * 7 % 90:02}"), (start, start + number // 3))
    cursor: str | None = None
    texts: list[str] = []
    while len(texts) < 90:
        trigger = File(f"{folder}/in/*", interval=0.1, settle="0.3s", cursor=cursor)
        event = await trigger_services.event(trigger, folders=(str(folder),))
        assert event["count"] == len(event["files"])
        assert len(canonical.plain(event).encode()) <= 4096
        cursor = event["cursor"]
        texts += [Path(file["path"]).name for file in event["files"]]
    rounds = [sorted(f"{number * 7 % 90:02}" for number in range(first, first + 3)) for first in range(0, 90, 3)]
    assert texts == [name for names_of_one_time in rounds for name in names_of_one_time]

    last = File(f"{folder}/in/*", interval=0.1, settle="0.3s", cursor=cursor)
    async with trigger_services.waiting(last, folders=(str(folder),)) as wait:
        await trigger_services.looked(last, "0 of 1 new files match")
        os.utime(touch(folder / "in/00", "new"), (start, start + 200))
        event = await wait
    assert [(Path(file["path"]).name, file["size"]) for file in event["files"]] == [("00", 3)]


async def test_a_file_of_the_same_time_under_an_earlier_name_is_not_lost(folder: Path) -> None:
    os.utime(touch(folder / "in/b"), (1_700_000_000, 1_700_000_000))
    trigger = File(f"{folder}/in/*", interval=0.1, settle="1s", cursor="2020-01-01T00:00:00Z")
    async with trigger_services.waiting(trigger, folders=(str(folder),)) as wait:
        await trigger_services.looked(trigger, "0 of 1 new files match")
        os.utime(touch(folder / "in/a"), (1_700_000_000, 1_700_000_000))
        event = await wait
    assert [Path(file["path"]).name for file in event["files"]] == ["a", "b"]


async def test_a_file_of_the_future_waits_and_does_not_hide_the_others(folder: Path) -> None:
    future = times.epoch("2199-01-01T00:00:00Z")
    os.utime(touch(folder / "in/a"), (future, future))
    os.utime(touch(folder / "in/b"), (1_700_000_000, 1_700_000_000))
    trigger = File(f"{folder}/in/*", interval=0.1, settle=0, cursor=None)
    event = await trigger_services.event(trigger, folders=(str(folder),))
    assert [Path(file["path"]).name for file in event["files"]] == ["b"]


def test_a_cursor_is_stored() -> None:
    name, kwargs = File("/data/a", cursor=None, settle="1m").serialize()
    assert (name, kwargs) == ("file", {"path": "/data/a", "cursor": None, "settle": 60.0})
    assert File(**kwargs).serialize() == (name, kwargs)

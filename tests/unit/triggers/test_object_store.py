"""`object`: what it takes and stores, which clients are made of it, and files as a store."""

import json
from pathlib import Path
from typing import Any

import pytest
from torpor.triggers import Object, cursors
from torpor.triggers.support import object_clients, object_urls
from torpor.triggers.support.arguments import Revealed
from torpor.triggers.support.object_urls import ObjectLocation

from tests.support import trigger_services

URL = "s3://drops/2026-11-20/_SUCCESS"
SECRET: Any = {"secretRef": {"name": "s3", "key": "secret"}}
KEYS: dict[str, Any] = {"access_key_id": "joe", "secret_access_key": SECRET}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The one that is open; beside it lies another."""
    (tmp_path / "data/in").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("k")
    return tmp_path / "data"


def write(path: Path, text: str = "") -> Path:
    path.write_text(text)
    return path


def link(path: Path, to: Path) -> None:
    path.symlink_to(to)


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    assert Object(URL).serialize() == ("object", {"url": URL})
    assert Object("s3://drops/in/", count=1, options={}, interval="10s").serialize() == (
        "object",
        {"url": "s3://drops/in/"},
    )


def test_it_reads_back_what_it_wrote_secrets_as_references() -> None:
    given = Object("s3://drops/in/", count=3, options={**KEYS, "endpoint": "https://minio:9000"}, interval="1m")
    name, kwargs = given.serialize()
    assert kwargs["options"]["secret_access_key"] == SECRET
    assert Object(**json.loads(json.dumps(kwargs))).serialize() == (name, kwargs)


@pytest.mark.parametrize(
    "cursor", [None, "2026-11-20T08:00:00Z", str(cursors.CursorProgress(cursors.CursorPosition(1, "in/a b"), 2))]
)
def test_a_cursor_is_stored(cursor: str | None) -> None:
    name, kwargs = Object("s3://drops/in/", cursor=cursor, settle="10m").serialize()
    assert (name, kwargs) == ("object", {"url": "s3://drops/in/", "cursor": cursor, "settle": 600.0})
    assert Object(**kwargs).serialize() == (name, kwargs)


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"url": 7}, TypeError, "url must be text"),
        ({"cursor": 7}, TypeError, "cursor must be text or null"),
        ({"url": "s3://drops/in/", "cursor": "x"}, ValueError, "neither a time nor the cursor of an event"),
        ({"settle": -1}, ValueError, "settle is -1 seconds"),
        ({"url": "drops/key"}, ValueError, "not a URL such as s3://"),
        ({"url": "http://drops/key"}, ValueError, "not a URL such as s3://"),
        ({"url": "memory:///key"}, ValueError, "not a URL such as s3://"),
        ({"url": "s3:///key"}, ValueError, "not a URL such as s3://"),
        ({"url": "file://data/key"}, ValueError, "not a URL such as s3://"),
        ({"url": "s3://joe:hunter2@drops/key"}, ValueError, "more than a bucket"),
        ({"url": "s3://drops/a/../b"}, ValueError, "more than a bucket"),
        ({"count": 2}, ValueError, "end url with a slash"),
        ({"url": "s3://drops/", "count": 0}, ValueError, "count is 0"),
        ({"options": "eu"}, TypeError, "options must be a mapping"),
        ({"options": {"regoin": "eu"}}, ValueError, "s3 accepts access_key_id, .*, not 'regoin'"),
        ({"options": {"region": 7}}, TypeError, "options: region must be text"),
        ({"options": {"anonymous": "yes"}}, TypeError, "options: anonymous must be true or false"),
        ({"options": {**KEYS, "secret_access_key": "hunter2"}}, ValueError, "secret_access_key is a secret"),
        ({"options": {"access_key_id": "joe"}}, ValueError, "go together"),
        ({"options": {**KEYS, "secret_access_key": {"secretRef": 1}}}, ValueError, "a secretRef must be"),
        ({"options": {"endpoint": "minio:9000"}}, ValueError, "endpoint is an address"),
        ({"options": {"endpoint": "http://joe:hunter2@minio"}}, ValueError, "endpoint is an address"),
        ({"url": "gs://drops/key", "options": {"endpoint": "https://x"}}, ValueError, "gs accepts anonymous, service"),
        ({"url": "az://drops/key"}, ValueError, "az needs account_name"),
        ({"url": "file:///data/key", "options": {"region": "eu"}}, ValueError, "file accepts none"),
        ({"interval": 0}, ValueError, "interval is 0 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        Object(**{"url": URL, **kwargs})
    assert "options: secret_access_key hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected", "many"),
    [
        (URL, ObjectLocation("s3", "drops", "2026-11-20/_SUCCESS"), False),
        ("s3://drops", ObjectLocation("s3", "drops", ""), True),
        ("gs://drops/a/", ObjectLocation("gs", "drops", "a/"), True),
        ("s3://drops/a b%20c?d#e+", ObjectLocation("s3", "drops", "a b%20c?d#e+"), False),
        ("file:///data/in/", ObjectLocation("file", "", "data/in/"), True),
    ],
)
def test_a_key_is_taken_as_it_is_written(url: str, expected: ObjectLocation, many: bool) -> None:
    assert object_urls.parse_object_url(url) == expected
    assert expected.is_folder == many


def test_an_unread_reference_cannot_run() -> None:
    with pytest.raises(TypeError, match="secret_access_key is a secretRef that was not resolved"):
        Object(URL, options=KEYS).bind(trigger_services.services())


@pytest.mark.parametrize(
    ("url", "options"),
    [
        (
            "s3://drops/key",
            {"access_key_id": "joe", "secret_access_key": Revealed("x"), "session_token": Revealed("y")},
        ),
        ("s3://drops/key", {"endpoint": "http://127.0.0.1:1", "virtual_hosted": True}),
        ("gs://drops/key", {}),
        ("az://drops/key", {"account_name": "joe", "account_key": Revealed("eA==")}),
        ("az://drops/key", {"account_name": "joe", "sas_token": Revealed("sv=2022-11-02&sig=eA%3D%3D")}),
        ("az://drops/key", {"account_name": "joe"}),
    ],
)
def test_a_client_is_made_of_every_stores_options(url: str, options: dict[str, Any]) -> None:
    trigger = Object(url, options=options)
    trigger.bind(trigger_services.services())
    store = object_clients.make(object_urls.parse_object_url(url), trigger.options, trigger_services.services(), None)
    assert "x" not in repr(store).removeprefix(type(store).__name__)


def test_credentials_that_a_store_cannot_read_are_refused() -> None:
    trigger = Object("gs://drops/key", options={"service_account_key": Revealed('{"type": "hunter2"}')})
    with pytest.raises(ValueError, match="url and options are not valid for the store") as caught:
        object_clients.make(
            object_urls.parse_object_url("gs://drops/key"), trigger.options, trigger_services.services(), None
        )
    assert "hunter2" not in str(caught.value)


async def test_a_file_is_an_object_too(folder: Path) -> None:
    trigger = Object(f"file://{folder}/in/a", interval=0.1)
    async with trigger_services.waiting(trigger, folders=(str(folder),)) as wait:
        await trigger_services.looked(trigger, "does not exist")
        write(folder / "in/a", "abc")
        event = await wait
    assert (event["path"], event["size"]) == (f"{folder}/in/a", 3)


async def test_files_are_counted_but_for_those_that_lie_outside(folder: Path) -> None:
    write(folder / "in/a")
    link(folder / "in/out", folder.parent / "secret/key")
    link(folder / "in/all", folder.parent / "secret")
    trigger = Object(f"file://{folder}/in/", count=2, interval=0.1)
    async with trigger_services.waiting(trigger, folders=(str(folder),)) as wait:
        await trigger_services.looked(trigger, "1 of 2 objects are under")
        write(folder / "in/b")
        event = await wait
    assert [object_["path"] for object_ in event["objects"]] == [f"{folder}/in/a", f"{folder}/in/b"]


async def test_no_link_leads_to_an_object_outside(folder: Path) -> None:
    link(folder / "in/out", folder.parent / "secret/key")
    trigger = Object(f"file://{folder}/in/out", interval=0.1)
    async with trigger_services.waiting(trigger, folders=(str(folder),)):
        await trigger_services.looked(trigger, "does not exist")
    with pytest.raises(ValueError, match="is in no folder"):
        Object(f"file://{folder.parent}/secret/key").bind(trigger_services.services(folders=(str(folder),)))


async def test_a_cursor_sees_all_objects_of_a_prefix(folder: Path) -> None:
    for number in range(1100):
        write(folder / f"in/{number}")
    trigger = Object(f"file://{folder}/in/", cursor=None, settle=0)
    event = await trigger_services.event(trigger, folders=(str(folder),))
    assert trigger.last_look.startswith("1100 of 1 new objects")
    assert event["count"] == len(event["objects"]) > 10
    assert event["objects"][0]["path"].startswith(str(folder))

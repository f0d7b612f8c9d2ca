"""The store's one rule: no older word undoes a newer one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from torpor_kubernetes.cache.store import CacheStore, Notice, StoreChange, key_of

Truth = dict[str, dict[str, Any]]


def raw(name: str, version: int, uid: str = "u", value: str = "") -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": str(version)}, "value": value}


def value_of(item: dict[str, Any]) -> str:
    return str(item["value"])


def store_and_notices() -> tuple[CacheStore[str], list[Notice[str]]]:
    notices: list[Notice[str]] = []
    return CacheStore(value_of, notices.append, index=lambda value: value.split()), notices


def test_versions_are_compared_as_numbers() -> None:
    store, _ = store_and_notices()
    store.upsert(raw("a", 99, value="old"))
    store.upsert(raw("a", 100, value="new"))
    assert store.get("ns", "a") == "new"


def test_an_older_version_of_an_object_is_ignored() -> None:
    store, notices = store_and_notices()
    store.absorb(raw("a", 7, value="new"))
    store.upsert(raw("a", 6, value="old"))
    store.delete(raw("a", 6))
    assert store.get("ns", "a") == "new"
    assert len(notices) == 1


def test_an_absorbed_write_that_leaves_the_selector_removes_the_object() -> None:
    store, _ = store_and_notices()
    store.upsert(raw("a", 5))
    store.absorb(raw("a", 6))
    store.delete(raw("a", 6))
    assert len(store) == 0


def test_a_new_object_of_the_same_name_is_a_delete_and_an_upsert() -> None:
    store, notices = store_and_notices()
    store.upsert(raw("a", 1, uid="first", value="x"))
    store.upsert(raw("a", 5, uid="second", value="y"))
    assert [(note.kind, note.item, note.previous) for note in notices if isinstance(note, StoreChange)] == [
        ("upsert", "x", None),
        ("delete", None, "x"),
        ("upsert", "y", None),
    ]
    assert (store.by_uid("first"), store.by_uid("second")) == (None, "y")


def test_a_list_does_not_remove_what_was_written_after_it_began() -> None:
    store, _ = store_and_notices()
    store.absorb(raw("mine", 12))
    store.upsert(raw("old", 3))
    store.settle(set(), 10)
    assert store.get("ns", "old") is None
    assert store.get("ns", "mine") is not None


def test_the_index_follows_every_change() -> None:
    store, _ = store_and_notices()
    store.upsert(raw("a", 1, value="red round"))
    store.upsert(raw("b", 2, value="red"))
    assert store.indexed("red") == ["red round", "red"]
    store.upsert(raw("a", 3, value="blue"))
    assert (store.indexed("red"), store.indexed("round"), store.indexed("blue")) == (["red"], [], ["blue"])
    store.delete(raw("b", 4))
    assert store.indexed("red") == []
    assert list(store.values()) == ["blue"]


OPERATIONS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["write", "delete"])), max_size=30)


@given(OPERATIONS, st.data())
def test_own_writes_and_lists_in_any_order_end_with_the_servers_state(
    operations: list[tuple[str, str]], data: st.DataObject
) -> None:
    events, history = happened(operations)
    store, notices = store_and_notices()
    delivered = 0
    while delivered < len(events):
        step = data.draw(st.sampled_from(["watch", "absorb", "list"]))
        if step == "watch":
            kind, item = events[delivered]
            (store.delete if kind == "DELETED" else store.upsert)(item)
            store.advance(delivered + 1)
            delivered += 1
        elif step == "absorb":
            kind, item = events[data.draw(st.integers(0, len(events) - 1))]
            if kind != "DELETED":
                store.absorb(item)
        else:
            delivered = data.draw(st.integers(delivered, len(events)))
            for item in history[delivered].values():
                store.upsert(item)
            store.settle({key_of(item) for item in history[delivered].values()}, delivered)
    truth = {name: item["value"] for name, item in history[-1].items()}
    assert {name: store.get("ns", name) for name in "abc" if store.get("ns", name) is not None} == truth
    assert replayed(notices) == truth


def happened(operations: list[tuple[str, str]]) -> tuple[list[tuple[str, dict[str, Any]]], list[Truth]]:
    """The events, version by version, and what there was after each; version 0 is before all."""
    events: list[tuple[str, dict[str, Any]]] = []
    history: list[Truth] = [{}]
    for name, operation in operations:
        now, version = dict(history[-1]), len(history)
        if operation == "delete" and name not in now:
            continue
        if operation == "delete":
            events.append(("DELETED", now.pop(name) | {"metadata": raw(name, version)["metadata"]}))
        else:
            uid = now[name]["metadata"]["uid"] if name in now else f"u{version}"
            now[name] = raw(name, version, uid, str(version))
            events.append(("MODIFIED", now[name]))
        history.append(now)
    return events, history


def replayed(notices: list[Notice[str]]) -> dict[str, str]:
    held: dict[str, str] = {}
    for note in notices:
        assert isinstance(note, StoreChange)
        assert note.previous == held.get(note.name)
        if note.item is None:
            del held[note.name]
        else:
            held[note.name] = note.item
    return held

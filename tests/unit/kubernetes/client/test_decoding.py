"""What the API server sends is decoded object by object: one that is nested too deeply harms no other."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_kubernetes.client import decoding
from torpor_kubernetes.client.decoding import UNREADABLE, decode, decode_event

Object = dict[str, Any]
DEEP = "[" * 1_100 + "]" * 1_100
"""Deeper than Python's decoder goes."""
BARELY = "[" * 150 + "]" * 150
"""Decoded without an error, but beyond the limit: deep copies of it fail."""


def _object(name: str = "a", *, spec: str = "{}", managed: str = "[]") -> str:
    metadata = f'{{"name": "{name}", "managedFields": {managed}, "uid": "u-{name}", "resourceVersion": "7"}}'
    return (
        f'{{"apiVersion": "v1", "kind": "K", "metadata": {metadata}, "spec": {spec}, "status": {{"state": "Running"}}}}'
    )


def _event(body: str) -> bytes:
    return f'{{"type": "ADDED", "object": {body}}}'.encode()


def test_the_depth_of_a_text_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[bytes] = []
    is_too_deep = decoding.is_too_deep

    def counted(data: bytes, max_depth: int = decoding.MAX_DEPTH) -> bool:
        checked.append(data)
        return is_too_deep(data, max_depth)

    monkeypatch.setattr(decoding, "is_too_deep", counted)
    body, event = _object().encode(), _event(_object())
    decode(body)
    decode_event(event)
    assert checked == [body, event]


@pytest.mark.parametrize("deep", [DEEP, BARELY])
def test_managed_fields_are_dropped_however_deep_they_are(deep: str) -> None:
    for managed in ("[]", deep):
        body = decode_event(_event(_object(managed=managed)))["object"]
        assert body["metadata"] == {"name": "a", "uid": "u-a", "resourceVersion": "7"}
        assert UNREADABLE not in body


def test_managed_fields_keep_the_time_of_an_answer() -> None:
    answer: Any = {"f:metadata": {"f:annotations": {".": {}, "f:torpor.dev/approval": {}, "f:other": {}}}}
    entry = {"manager": "kubectl-annotate", "operation": "Update", "time": "2026-11-22T08:00:00Z"}
    others: list[Any] = [None, 1, {}, {"fieldsV1": []}, {**entry, "fieldsV1": {"f:metadata": {"f:annotations": []}}}]
    entries = json.dumps([*others, {**entry, "fieldsV1": answer}])
    bodies = [
        decode_event(_event(_object(managed=entries)))["object"],
        decode(_object(managed=entries).encode()),
        *decode(f'{{"items": [{_object(managed=entries)}]}}'.encode())["items"],
    ]
    kept: Any = {"f:metadata": {"f:annotations": {"f:torpor.dev/approval": {}}}}
    assert [body["metadata"]["managedFields"] for body in bodies] == [[{**entry, "fieldsV1": kept}]] * 3


@pytest.mark.parametrize("deep", [DEEP, BARELY])
def test_an_object_that_is_too_deep_keeps_its_name_and_says_what_is_missing(deep: str) -> None:
    body = decode_event(_event(_object(spec=deep)))["object"]
    assert body["metadata"]["name"] == "a"
    assert body["status"] == {"state": "Running"}
    assert body[UNREADABLE] == "spec: nested more than 100 levels deep"
    assert "spec" not in body
    assert decode(_object(spec=deep).encode()) == body


@pytest.mark.parametrize("deep", [DEEP, BARELY])
def test_one_deep_object_leaves_the_others_of_its_list_whole(deep: str) -> None:
    items = [_object("a", spec='{"x": ["]}"]}'), _object("b", spec=deep), _object("c", managed=deep)]
    text = f'{{"kind": "KList", "metadata": {{"resourceVersion": "9"}}, "items": [{", ".join(items)}]}}'
    body = decode(text.encode())
    assert body["metadata"] == {"resourceVersion": "9"}
    assert [each["metadata"]["name"] for each in body["items"]] == ["a", "b", "c"]
    assert [UNREADABLE in each for each in body["items"]] == [False, True, False]
    assert body["items"][0]["spec"] == {"x": ["]}"]}


@pytest.mark.parametrize("text", ["", "{", "[1", '{"items": [', '{"object": 1}', "[" * 3_000, '{"a": ' * 3_000])
def test_text_that_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_event(text.encode())


LEAVES = st.none() | st.integers() | st.text(alphabet='[]{}"\\:,aé', max_size=6)
JSON = LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(st.text(alphabet='"]}', max_size=3), LEAVES, max_size=3)


@given(st.lists(st.dictionaries(st.sampled_from(["kind", "spec", "status"]), JSON), max_size=4))
def test_member_by_member_gives_what_the_decoder_gives(objects: list[Object]) -> None:
    deep = json.loads(BARELY)
    items = [each | {"metadata": {"name": str(i)}} for i, each in enumerate(objects)]
    body = decode(json.dumps({"items": [*items, {"deep": deep}], "metadata": {}}).encode())
    assert body["items"][:-1] == items
    assert set(body["items"][-1]) == {UNREADABLE}

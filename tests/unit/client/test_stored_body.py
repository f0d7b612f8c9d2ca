import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_client.errors import UserError
from torpor_client.runs import stored_body


def stored(kind: str, body: bytes) -> dict[str, Any]:
    return {"type": kind, "size": len(body), "digest": hashlib.sha256(body).hexdigest()}


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


@given(st.lists(st.integers() | st.text(max_size=5)), st.integers(1, 9))
def test_a_list_of_lines_becomes_a_json_list_in_any_chunks(items: list[Any], size: int) -> None:
    body = "".join(f"{json.dumps(item)}\n" for item in items).encode()
    value = b"".join(stored_body.value_of(stored("list", body), pieces(body, size)))
    assert json.loads(value) == items


@given(st.dictionaries(st.text(max_size=5), st.integers()), st.integers(1, 9))
def test_an_object_of_entries_becomes_a_json_object(value: dict[str, int], size: int) -> None:
    body = "".join(f"{json.dumps([key, entry])}\n" for key, entry in value.items()).encode()
    text = b"".join(stored_body.value_of(stored("object", body), pieces(body, size)))
    assert json.loads(text) == value


@pytest.mark.parametrize("sent", [b"abc", b"abcde", b"abcx"])
def test_a_body_that_differs_from_its_description_is_an_error(sent: bytes) -> None:
    with pytest.raises(UserError, match="try again"):
        list(stored_body.value_of(stored("file", b"abcd"), [sent]))


def test_an_entry_that_is_not_json_is_an_error() -> None:
    with pytest.raises(UserError, match="not JSON"):
        list(stored_body.value_of(stored("object", b"[x\n"), [b"[x\n"]))

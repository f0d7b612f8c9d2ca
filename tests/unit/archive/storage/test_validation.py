"""What a body says it is, it is: each kind looked at in pieces of any size."""

import json

import pytest
from torpor_archive.errors import Refusal, RefusedError
from torpor_archive.storage import content, validation
from torpor_archive.storage.content import Kind
from torpor_wire import constants


def look(kind: str, body: bytes, piece: int = 3) -> validation.Entries | None:
    seen, entries = validation.of(Kind(type=kind))
    for at in range(0, len(body), piece):
        seen.feed(body[at : at + piece])
    seen.end()
    if entries is not None:
        entries.checked()
    return entries


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("list", b'1\n"a\\nb"\n'),
        ("list", b"1\n2"),
        ("list", b""),
        ("string", '"ä"'.encode()),
        ("number", b"-1e9"),
        ("number", b"7"),
        ("boolean", b"false"),
        ("null", b"null"),
        ("bytes", b"\xff\x00\n"),
        ("file", b""),
    ],
)
@pytest.mark.parametrize("piece", [1, 2, 1000])
def test_what_is_of_its_kind_is_taken(kind: str, body: bytes, piece: int) -> None:
    assert look(kind, body, piece) is None


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("list", b"[1,2]]\n", "line 0 is not JSON"),
        ("list", b"1\nInfinity\n", "line 1 is not JSON: Infinity is no JSON"),
        ("list", b"1\n\n", "line 1 is not JSON"),
        ("list", b'"\xc3"\n', "line 0 is not UTF-8"),
        ("list", b"9" * 5000 + b"\n", "line 0 is not JSON"),
        ("object", b"1\n", "line 0 is no entry"),
        ("object", b'[1,"a"]\n', "line 0 is no entry"),
        ("object", b'["a",1]\n["a",1]\n', "'a' is there twice"),
        ("string", b"text", "is not JSON"),
        ("string", b'"\xc3"', "is not UTF-8"),
        ("boolean", b"1", "is a number, and not a boolean"),
        ("number", b"true", "is a boolean, and not a number"),
        ("null", b"[]", "is a list"),
        ("null", b"", "is not JSON"),
    ],
)
def test_what_is_not_is_refused(kind: str, body: bytes, said: str) -> None:
    with pytest.raises(RefusedError, match=said) as caught:
        look(kind, body)
    assert caught.value.refusal.status == 400


def test_the_keys_of_an_object_are_kept_in_their_order_while_they_fit() -> None:
    few = b'["b",1]\n["a",2]\n'
    entries = look("object", few)
    assert entries is not None
    assert entries.keys == '["b","a"]'


@pytest.mark.parametrize("spare", [0, 1])
def test_keys_are_kept_up_to_what_may_stand_on_a_taskrun(spare: int) -> None:
    names = [f"{n:0100d}" for n in range((constants.STORED_KEYS_MAX - 2) // 103)]
    room = constants.STORED_KEYS_MAX - 1 - len(json.dumps(names, separators=(",", ":")))
    names.append("y" * (room - 2 + spare))
    entries = look("object", b"".join(json.dumps([name, 1]).encode() + b"\n" for name in names), 10_000)
    assert entries is not None
    kept = entries.keys
    assert (kept is None) == bool(spare)
    assert kept is None or len(kept) == constants.STORED_KEYS_MAX


def test_a_line_has_a_limit_however_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "LINE_MAX", 10)
    for piece in (1, 7, 1000):
        look("list", b'"12345678"\n1\n', piece)
        with pytest.raises(RefusedError, match="item 1 has more than 10 bytes") as caught:
            look("list", b'1\n"123456789"\n', piece)
        assert caught.value.refusal.status == 413


def test_a_long_string_is_held_to_its_quotes_and_to_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "LINE_MAX", 10)
    look("string", b'"' + b"x" * 100 + b'"')
    for body in (b'"' + b"x" * 100, b'"' + b"x" * 100 + b'\xff"'):
        with pytest.raises(RefusedError):
            look("string", body)
    with pytest.raises(RefusedError, match="a number of more than 10 bytes") as caught:
        look("number", b"1" * 11)
    assert caught.value.refusal.status == 413


def test_a_kind_is_what_its_headers_say() -> None:
    found = content.of({"Torpor-Type": "file", "Content-Type": "application/octet-stream", "Torpor-Name": "a%20b.csv"})
    assert found == Kind(type="file", name="a b.csv")
    assert content.of({"Torpor-Type": "null", "Content-Type": "application/json; charset=utf-8"}) == Kind(type="null")


@pytest.mark.parametrize("name", ["", ".", "..", "a%2Fb", "a%00b", "x" * 256, "%FF"])
def test_a_files_name_leads_nowhere(name: str) -> None:
    headers = {"Torpor-Type": "file", "Content-Type": "application/octet-stream", "Torpor-Name": name}
    assert isinstance(content.of(headers), Refusal)


def test_a_name_is_given_back_as_it_came() -> None:
    assert Kind(type="file", name="é?").headers()["Torpor-Name"] == "%C3%A9%3F"


def test_an_item_of_very_many_lists_is_refused_before_it_is_parsed() -> None:
    many = b"[" + b"[]," * validation.CONTAINERS_MAX + b"1]\n"
    with pytest.raises(RefusedError, match="more than 250000 lists and objects") as caught:
        look("list", many, len(many))
    assert caught.value.refusal.status == 413


def test_brackets_in_strings_are_no_lists() -> None:
    look("list", b'"' + b'\\"[{' * validation.CONTAINERS_MAX + b'"\n', 1_000_000)

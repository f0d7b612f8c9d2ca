"""Cuts bodies into chunks, and validates them against their declared type."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_archive.errors import ErrorResponse, RefusedError
from torpor_archive.storage import chunks as chunking
from torpor_archive.storage import content, validation
from torpor_archive.storage.chunks import BodyLimits, Chunk, Chunker
from torpor_archive.storage.content import BodyFormat
from torpor_wire import constants

_WIDE = BodyLimits(size=10**9, lines=10**6)


def cut(pieces: list[bytes], limits: BodyLimits = _WIDE, *, has_lines: bool = True) -> tuple[Chunker, list[Chunk]]:
    chunker = Chunker(limits, has_lines=has_lines)
    chunks = [chunk for piece in pieces for chunk in chunker.feed(piece)]
    return chunker, [*chunks, chunker.end()]


def starts(chunks: list[Chunk]) -> list[int]:
    return [chunk.at + start for chunk in chunks for start in chunk.starts]


def expected(body: bytes) -> list[int]:
    """The line offsets, by a second algorithm."""
    return [at for at in range(len(body)) if at == 0 or body[at - 1 : at] == b"\n"]


@given(st.lists(st.sampled_from([b"\n", b"a", b"bcdef", b"\r"])), st.integers(1, 16))
def test_chunks_join_to_the_body_and_index_each_line(pieces: list[bytes], size: int) -> None:
    body = b"".join(pieces)
    before, chunking.CHUNK = chunking.CHUNK, size
    try:
        chunker, chunks = cut([body[at : at + 7] for at in range(0, len(body), 7)])
    finally:
        chunking.CHUNK = before
    assert b"".join(chunk.data for chunk in chunks) == body
    assert chunker.digest == hashlib.sha256(body).hexdigest()
    assert starts(chunks) == expected(body)
    assert (chunker.size, chunker.lines) == (len(body), len(expected(body)))
    for chunk in chunks:
        assert chunk.first == sum(len(other.starts) for other in chunks[: chunk.seq])
        assert all(0 <= start < len(chunk.data) for start in chunk.starts)


def test_a_body_without_lines_has_no_offsets() -> None:
    chunker, chunks = cut([b"a\nb\n"], has_lines=False)
    assert (chunker.lines, starts(chunks)) == (0, [])


def test_line_offsets_are_packed_and_unpacked() -> None:
    stored = chunking.pack_offsets((0, 7, 500_000))
    assert [chunking.unpack_offset(stored, line) for line in range(3)] == [0, 7, 500_000]


@pytest.mark.parametrize(
    ("limits", "message"),
    [(BodyLimits(size=5, lines=100), "5 bytes"), (BodyLimits(size=100, lines=2), "2")],
)
def test_a_body_may_reach_a_limit_but_not_exceed_it(limits: BodyLimits, message: str) -> None:
    fits = b"1\n2" if limits.lines == 2 else b"1\n2\n3"
    cut([fits], limits)
    with pytest.raises(RefusedError, match=message) as caught:
        cut([fits + b"\n4"], limits)
    assert caught.value.refusal.status == 413


def validate(kind: str, body: bytes, piece: int = 3) -> validation.ObjectEntries | None:
    validator, entries = validation.validator_for(BodyFormat(type=kind))
    for at in range(0, len(body), piece):
        validator.feed(body[at : at + piece])
    validator.end()
    if entries is not None:
        entries.reject_duplicates()
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
def test_a_body_of_its_declared_type_is_accepted(kind: str, body: bytes, piece: int) -> None:
    assert validate(kind, body, piece) is None


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("list", b"[1,2]]\n", "line 0 is not JSON"),
        ("list", b"1\nInfinity\n", "line 1 is not JSON: Infinity is not a JSON value"),
        ("list", b"1\n\n", "line 1 is not JSON"),
        ("list", b'"\xc3"\n', "line 0 is not UTF-8"),
        ("list", b"9" * 5000 + b"\n", "line 0 is not JSON"),
        ("object", b"1\n", "line 0 is not an object entry"),
        ("object", b'[1,"a"]\n', "line 0 is not an object entry"),
        ("object", b'["a",1]\n["a",1]\n', "key 'a' is duplicate"),
        ("string", b"text", "is not JSON"),
        ("string", b'"\xc3"', "is not UTF-8"),
        ("boolean", b"1", "is of type number, but the header declares a boolean"),
        ("number", b"true", "is of type boolean, but the header declares a number"),
        ("null", b"[]", "is of type list"),
        ("null", b"", "is not JSON"),
    ],
)
def test_a_body_of_another_type_is_refused(kind: str, body: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as caught:
        validate(kind, body)
    assert caught.value.refusal.status == 400


def test_the_keys_of_an_object_are_collected_in_order() -> None:
    few = b'["b",1]\n["a",2]\n'
    entries = validate("object", few)
    assert entries is not None
    assert entries.keys == '["b","a"]'


@pytest.mark.parametrize("spare", [0, 1])
def test_keys_are_collected_up_to_the_limit_of_a_taskrun(spare: int) -> None:
    names = [f"{n:0100d}" for n in range((constants.STORED_KEYS_MAX - 2) // 103)]
    room = constants.STORED_KEYS_MAX - 1 - len(json.dumps(names, separators=(",", ":")))
    names.append("y" * (room - 2 + spare))
    entries = validate("object", b"".join(json.dumps([name, 1]).encode() + b"\n" for name in names), 10_000)
    assert entries is not None
    kept = entries.keys
    assert (kept is None) == bool(spare)
    assert kept is None or len(kept) == constants.STORED_KEYS_MAX


def test_a_line_has_a_limit_for_any_piece_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "LINE_MAX", 10)
    for piece in (1, 7, 1000):
        validate("list", b'"12345678"\n1\n', piece)
        with pytest.raises(RefusedError, match="item 1 has more than 10 bytes") as caught:
            validate("list", b'1\n"123456789"\n', piece)
        assert caught.value.refusal.status == 413


def test_a_long_string_needs_quotes_and_valid_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "LINE_MAX", 10)
    validate("string", b'"' + b"x" * 100 + b'"')
    for body in (b'"' + b"x" * 100, b'"' + b"x" * 100 + b'\xff"'):
        with pytest.raises(RefusedError):
            validate("string", body)
    with pytest.raises(RefusedError, match="a number is limited to 10 bytes") as caught:
        validate("number", b"1" * 11)
    assert caught.value.refusal.status == 413


def test_the_format_is_parsed_from_the_headers() -> None:
    headers = content.parse_headers(
        {"Torpor-Type": "file", "Content-Type": "application/octet-stream", "Torpor-Name": "a%20b.csv"}
    )
    assert headers == BodyFormat(type="file", name="a b.csv")
    assert content.parse_headers(
        {"Torpor-Type": "null", "Content-Type": "application/json; charset=utf-8"}
    ) == BodyFormat(type="null")


@pytest.mark.parametrize("name", ["", ".", "..", "a%2Fb", "a%00b", "x" * 256, "%FF"])
def test_a_file_name_may_not_be_a_path(name: str) -> None:
    headers = {"Torpor-Type": "file", "Content-Type": "application/octet-stream", "Torpor-Name": name}
    assert isinstance(content.parse_headers(headers), ErrorResponse)


def test_a_file_name_is_percent_encoded_in_the_response() -> None:
    assert BodyFormat(type="file", name="é?").headers()["Torpor-Name"] == "%C3%A9%3F"


def test_an_item_with_too_many_lists_is_refused_before_parsing() -> None:
    many = b"[" + b"[]," * validation.CONTAINERS_MAX + b"1]\n"
    with pytest.raises(RefusedError, match="contains more than 250000 lists and objects") as caught:
        validate("list", many, len(many))
    assert caught.value.refusal.status == 413


def test_brackets_in_strings_do_not_count_as_lists() -> None:
    validate("list", b'"' + b'\\"[{' * validation.CONTAINERS_MAX + b'"\n', 1_000_000)

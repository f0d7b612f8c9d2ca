"""A body is cut so that its bytes, its digest and its lines come out as they went in, however it came."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_archive.errors import RefusedError
from torpor_archive.storage import chunks as framing
from torpor_archive.storage.chunks import Chunk, Cutter, Limits

_WIDE = Limits(size=10**9, lines=10**6)


def cut(pieces: list[bytes], limits: Limits = _WIDE, *, lined: bool = True) -> tuple[Cutter, list[Chunk]]:
    cutter = Cutter(limits, lined=lined)
    chunks = [chunk for piece in pieces for chunk in cutter.feed(piece)]
    return cutter, [*chunks, cutter.end()]


def starts(chunks: list[Chunk]) -> list[int]:
    return [chunk.at + start for chunk in chunks for start in chunk.starts]


def expected(body: bytes) -> list[int]:
    """Where lines begin, found out another way."""
    return [at for at in range(len(body)) if at == 0 or body[at - 1 : at] == b"\n"]


@given(st.lists(st.sampled_from([b"\n", b"a", b"bcdef", b"\r"])), st.integers(1, 16))
def test_chunks_are_the_body_and_know_each_line(pieces: list[bytes], size: int) -> None:
    body = b"".join(pieces)
    before, framing.CHUNK = framing.CHUNK, size
    try:
        cutter, chunks = cut([body[at : at + 7] for at in range(0, len(body), 7)])
    finally:
        framing.CHUNK = before
    assert b"".join(chunk.data for chunk in chunks) == body
    assert cutter.digest == hashlib.sha256(body).hexdigest()
    assert starts(chunks) == expected(body)
    assert (cutter.size, cutter.lines) == (len(body), len(expected(body)))
    for chunk in chunks:
        assert chunk.first == sum(len(other.starts) for other in chunks[: chunk.seq])
        assert all(0 <= start < len(chunk.data) for start in chunk.starts)


def test_what_has_no_lines_has_no_starts() -> None:
    cutter, chunks = cut([b"a\nb\n"], lined=False)
    assert (cutter.lines, starts(chunks)) == (0, [])


def test_starts_are_read_as_they_were_packed() -> None:
    stored = framing.packed((0, 7, 500_000))
    assert [framing.start(stored, line) for line in range(3)] == [0, 7, 500_000]


@pytest.mark.parametrize(
    ("limits", "said"),
    [(Limits(size=5, lines=100), "5 bytes"), (Limits(size=100, lines=2), "2")],
)
def test_a_limit_is_reached_by_one_more_and_not_before(limits: Limits, said: str) -> None:
    fits = b"1\n2" if limits.lines == 2 else b"1\n2\n3"
    cut([fits], limits)
    with pytest.raises(RefusedError, match=said) as caught:
        cut([fits + b"\n4"], limits)
    assert caught.value.refusal.status == 413

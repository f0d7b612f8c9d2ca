"""The beginning and the end of a log, on whole lines."""

from torpor_archive.storage.log_text import HeadAndTail, StoredText, decompress


def read(stored: StoredText) -> bytes:
    return b"".join(map(decompress, stored.chunks))


def fed(text: bytes, *, head: int, tail: int, line: int = 1000, piece: int = 7) -> StoredText:
    kept = HeadAndTail(head, tail, line)
    for start in range(0, len(text), piece):
        kept.feed(text[start : start + piece])
    return kept.finish()


def test_a_short_log_is_kept_whole() -> None:
    text = b"one\ntwo\n\nthree\n"
    stored = fed(text, head=6, tail=20)
    assert read(stored) == text
    assert (stored.size, stored.omitted) == (len(text), 0)


def test_a_log_without_a_last_line_end_gets_one() -> None:
    assert read(fed(b"one\ntwo", head=100, tail=100)) == b"one\ntwo\n"


def test_an_empty_log_has_no_chunks() -> None:
    assert fed(b"", head=10, tail=10) == StoredText()


def test_the_middle_of_a_long_log_is_omitted_at_line_ends() -> None:
    text = b"".join(b"line %03d\n" % number for number in range(100))
    stored = fed(text, head=20, tail=30)
    assert read(stored) == b"line 000\nline 001\n... 855 bytes omitted ...\nline 097\nline 098\nline 099\n"
    assert (stored.size, stored.omitted) == (900, 855)


def test_the_rest_of_a_long_line_is_omitted() -> None:
    stored = fed(b"a" * 50 + b"\nb\n", head=100, tail=100, line=10)
    assert read(stored) == b"a" * 10 + b"... 40 bytes omitted ...\nb\n"
    assert stored.omitted == 40


def test_it_warns_before_it_drops_a_line() -> None:
    text = b"".join(b"%d\n" % number for number in range(1000))
    kept = HeadAndTail(100, 100, 20)
    seen = b""
    for start in range(0, len(text), 3):
        piece = text[start : start + 3]
        if kept.would_omit(len(piece)):
            break
        kept.feed(piece)
        seen += piece
    assert b"".join(kept.held()) == seen
    assert kept.omitted == 0
    assert len(seen) > 150


def test_carriage_returns_do_not_end_a_line() -> None:
    text = b"10%\r20%\r30%\ndone\n"
    assert read(fed(text, head=5, tail=100)) == text

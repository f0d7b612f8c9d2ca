"""Logs as one stream in the order of time."""

import threading
import time
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_cli.logs import merge
from torpor_client.logs import log_text
from torpor_client.logs.ordering import LogCursor, ReorderBuffer, unseen
from torpor_client.logs.source import LogLine, LogSource, SourceKey
from torpor_wire.enums import LogKind


def source(number: int, start: int = 0) -> LogSource:
    return LogSource(key=SourceKey("load", (number,), 1, 0, 0, LogKind.POD), start=start)


class CountedLogs:
    """Logs by source, and how many are open."""

    def __init__(self, times: list[list[int]]) -> None:
        self.sources = [source(number, min(at, default=0)) for number, at in enumerate(times)]
        self._times = {log.key: sorted(at) for log, at in zip(self.sources, times, strict=True)}
        self._lock = threading.Lock()
        self.open = 0
        self.most = 0
        self.started = 0

    def read(self, source: LogSource) -> Generator[LogLine, None, None]:
        with self._lock:
            self.open += 1
            self.started += 1
            self.most = max(self.most, self.open)
        try:
            for number, at in enumerate(self._times[source.key]):
                yield LogLine(at, source, f"{source.key.path[0]}.{number} \udcff\t x")
        finally:
            with self._lock:
                self.open -= 1


@given(st.lists(st.lists(st.integers(min_value=0, max_value=50), max_size=6), max_size=12), st.integers(1, 5))
def test_every_line_comes_once_in_the_order_of_time_and_of_its_log(times: list[list[int]], group: int) -> None:
    logs = CountedLogs(times)
    lines = list(merge.merge(logs.sources, logs.read, group=group))
    assert [line.at for line in lines] == sorted(at for log in times for at in log)
    for source in logs.sources:
        mine = [line.text for line in lines if line.source is source]
        assert mine == [line.text for line in logs.read(source)]
    assert logs.open == 0


@given(st.lists(st.lists(st.integers(min_value=0, max_value=50), max_size=6), max_size=40), st.integers(1, 5))
def test_at_most_two_groups_of_logs_are_open_at_a_time(times: list[list[int]], group: int) -> None:
    logs = CountedLogs(times)
    list(merge.merge(logs.sources, logs.read, group=group))
    assert logs.most <= 2 * group


def test_a_group_of_logs_is_opened_only_when_the_stream_reaches_its_start() -> None:
    logs = CountedLogs([[1, 2], [10, 11], [20], [30]])
    lines = merge.merge(logs.sources, logs.read, group=2)
    assert next(lines).at == 1
    assert logs.started == 2


def test_an_error_of_a_log_reaches_the_reader() -> None:
    def read(log_source: LogSource) -> Generator[LogLine, None, None]:
        if log_source.start:
            raise OSError("broken")
        yield LogLine(0, log_source, "x")

    with pytest.raises(OSError, match="broken"):
        list(merge.merge([source(0), source(1, start=1)], read))


def test_the_first_lines_of_a_group_are_fetched_at_the_same_time() -> None:
    everybody = threading.Barrier(4, timeout=180)

    def read(log_source: LogSource) -> Generator[LogLine, None, None]:
        everybody.wait()
        yield LogLine(0, log_source, "x")

    assert len(list(merge.merge([source(number) for number in range(4)], read, group=4))) == 4


def test_a_reader_who_stops_closes_all_logs() -> None:
    logs = CountedLogs([[1, 5], [2, 6], [3, 7]])
    lines = merge.merge(logs.sources, logs.read, group=2)
    for _ in range(3):
        next(lines)
    lines.close()
    until = time.monotonic() + 180
    while logs.open:  # a thread that fetches the first line of a log closes it
        assert time.monotonic() < until


@pytest.mark.parametrize(
    ("line", "nanoseconds", "text"),
    [
        ("1970-01-01T00:00:01Z a", 1_000_000_000, "a"),
        ("1970-01-01T00:00:01.5Z a b", 1_500_000_000, "a b"),
        ("1970-01-01T00:00:01.000000001Z ", 1_000_000_001, ""),
        ("1970-01-01T00:00:01.123456789123Z a", 1_123_456_789, "a"),
        ("1970-01-01T02:00:01+02:00 a", 1_000_000_000, "a"),
        ("1970-01-01T00:00:01Z", 1_000_000_000, ""),
        ("... 812 bytes omitted ...", None, "... 812 bytes omitted ..."),
        ("2026-99-99T00:00:01Z a", None, "2026-99-99T00:00:01Z a"),
        ("1970-01-01T00:00:01Zebra", None, "1970-01-01T00:00:01Zebra"),
        ("", None, ""),
    ],
)
def test_the_time_of_a_line_is_read_to_the_nanosecond(line: str, nanoseconds: int | None, text: str) -> None:
    assert log_text.parse_line(line) == (nanoseconds, text)


def test_times_of_a_log_never_decrease_and_untimed_lines_keep_their_place() -> None:
    raw = ["1970-01-01T00:00:05Z a", "... omitted ...", "1970-01-01T00:00:03Z b"]
    lines = log_text.lines_of(source(0, start=4_000_000_000), raw)
    assert [(line.at // 10**9, line.text) for line in lines] == [(5, "a"), (5, "... omitted ..."), (5, "b")]


@given(st.text("ab\né", max_size=80), st.lists(st.integers(1, 20), max_size=20), st.integers(4, 30))
def test_lines_do_not_depend_on_the_chunks_in_which_they_arrive(text: str, cuts: list[int], limit: int) -> None:
    rest, chunks = text.encode(), []
    for cut in cuts:
        chunks.append(rest[:cut])
        rest = rest[cut:]
    assert list(log_text.split([*chunks, rest])) == text.removesuffix("\n").split("\n" if text else None)
    assert all(len(line) <= limit for line in log_text.split([*chunks, rest], limit))


def test_a_line_without_end_is_divided_so_that_memory_stays_bounded() -> None:
    lines = list(log_text.split([b"x" * 10] * 10, limit=30))
    assert [len(line) for line in lines] == [30, 30, 30, 10]


def test_empty_lines_and_a_last_line_without_newline_are_lines() -> None:
    assert list(log_text.split([b"a\n\nb\r\nc"])) == ["a", "", "b", "c"]


def test_a_log_that_is_read_again_continues_without_gap_or_repetition() -> None:
    log_source, progress = source(0), LogCursor()
    log = [LogLine(at, log_source, f"{number}") for number, at in enumerate([1, 2, 2, 2, 3, 3])]
    first = list(unseen(log[:3], progress))
    again = list(unseen(log[1:], progress))
    assert [line.text for line in (*first, *again)] == ["0", "1", "2", "3", "4", "5"]


@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 12), max_size=4))
def test_however_often_a_connection_breaks_each_line_is_shown_once(times: list[int], breaks: list[int]) -> None:
    log_source, progress = source(0), LogCursor()
    log = [LogLine(at, log_source, f"{number}") for number, at in enumerate(sorted(times))]
    shown: list[LogLine] = []
    for end in (*breaks, len(log)):
        known = [line for line in log[:end] if line.at >= progress.at]
        if not progress.count or len([line for line in known if line.at == progress.at]) >= progress.count:
            shown += unseen(known, progress)
    assert shown == log


def test_lines_that_arrive_within_the_delay_are_put_in_order() -> None:
    buffer, log_source = ReorderBuffer(delay=1.0), source(0)
    buffer.add(LogLine(5, log_source, "later"), now=0.0)
    buffer.add(LogLine(3, log_source, "earlier"), now=0.5)
    assert list(buffer.due(0.9)) == []
    assert [line.text for line in buffer.due(1.5)] == ["earlier", "later"]


def test_too_many_lines_are_not_held() -> None:
    buffer, log_source = ReorderBuffer(delay=99.0, most=2), source(0)
    for at in range(5):
        buffer.add(LogLine(at, log_source, f"{at}"), now=0.0)
    assert [line.at for line in buffer.due(0.0)] == [0, 1, 2]
    assert [line.at for line in buffer.rest()] == [3, 4]

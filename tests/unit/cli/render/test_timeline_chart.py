"""The timeline as text."""

import re

import pytest
from torpor_cli import table
from torpor_cli.render import timeline_axis, timeline_chart, timeline_rows
from torpor_cli.render.timeline_chart import ASCII, UNICODE
from torpor_cli.render.timeline_rows import Bar, Chart, ChartRow, SpanKind
from torpor_cli.table import width_of
from torpor_wire import times


def bar(kind: SpanKind, start: float, end: float) -> Bar:
    return Bar(kind=kind, start=start, end=end)


def instance(number: int, length: float = 10.0, state: str = "Succeeded") -> ChartRow:
    return ChartRow(label=f"load[{number}]", state=state, bars=(bar(SpanKind.POD, 0.0, length),))


def chart(*rows: ChartRow, end: float = 100.0, title: str = "ingest") -> Chart:
    return Chart(title=title, state="Running", start=0.0, end=end, rows=rows)


def cells(row: ChartRow, count: int = 10, end: float = 100.0) -> str:
    return "".join(character for character, _ in timeline_chart.cells_of(row, chart(row, end=end), count, ASCII))


def test_pods_are_solid_waits_hatched_and_queueing_is_thin() -> None:
    row = ChartRow(
        label="a", bars=(bar(SpanKind.QUEUED, 10, 30), bar(SpanKind.POD, 30, 50), bar(SpanKind.WAIT, 50, 90))
    )
    assert cells(row) == " --##//// "


def test_a_pod_that_is_shorter_than_a_cell_stays_visible_between_waits() -> None:
    row = ChartRow(
        label="a", bars=(bar(SpanKind.WAIT, 0, 54), bar(SpanKind.POD, 54, 54.1), bar(SpanKind.WAIT, 54.1, 100))
    )
    assert cells(row) == "/////#////"


def test_a_bar_without_length_at_the_end_has_the_last_cell() -> None:
    assert cells(ChartRow(label="a", bars=(bar(SpanKind.POD, 100, 100),))) == "         #"


def test_a_run_without_length_can_be_drawn() -> None:
    row = ChartRow(label="a", bars=(bar(SpanKind.POD, 0, 0),))
    assert list(timeline_chart.draw(chart(row, end=0.0), 60))


def test_a_folded_row_shows_pods_as_heights_and_waits_where_no_pod_runs() -> None:
    pods = [
        ChartRow(label=f"a[{n}]", bars=(bar(SpanKind.POD, 0, 10 * n), bar(SpanKind.WAIT, 10 * n, 60)))
        for n in range(1, 5)
    ]
    folded = timeline_rows.fold("a", pods, above=2)[0]
    drawn = timeline_chart.cells_of(folded, chart(folded), 10, UNICODE)
    assert "".join(character for character, _ in drawn) == "█▆▅▃░░    "


def test_a_mapped_task_with_few_instances_is_not_folded() -> None:
    rows = [instance(number) for number in range(timeline_rows.FOLD_ABOVE)]
    assert timeline_rows.fold("load", rows) == rows


def test_a_folded_task_shows_failed_instances_first_and_then_the_longest() -> None:
    rows = [instance(number, length=number) for number in range(99)] + [instance(99, length=0.5, state="Failed")]
    folded, *sampled = timeline_rows.fold("load", rows)
    assert (folded.label, folded.count, folded.state) == ("load (100)", 100, "99 Succeeded, 1 Failed")
    assert [row.label for row in sampled] == ["load[97]", "load[98]", "load[99]"]
    assert {row.depth for row in sampled} == {1}


@pytest.mark.parametrize("width", [20, 40, 60, 80, 133, 300])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    rows = timeline_rows.fold("load" * 20, [instance(number) for number in range(2000)])
    lines = list(timeline_chart.draw(chart(*rows, title="run" * 30), width))
    longest = max(width_of(line) for line in lines)
    assert longest <= max(width, timeline_chart.WIDTH_MIN)


def test_ten_thousand_instances_take_a_few_lines() -> None:
    rows = timeline_rows.fold("load", [instance(number) for number in range(10_000)])
    assert len(list(timeline_chart.draw(chart(*rows), 100))) < 10


def test_colours_are_only_there_if_requested_and_do_not_change_the_text() -> None:
    rows = (ChartRow(label="a", state="Failed", bars=(bar(SpanKind.QUEUED, 0, 50), bar(SpanKind.POD, 50, 100))),)
    plain, coloured = (list(timeline_chart.draw(chart(*rows), 80, colour=colour)) for colour in (False, True))
    assert not any("\x1b" in line for line in plain)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == plain
    assert plain != coloured


def test_escape_sequences_of_names_are_shown_as_text() -> None:
    row = ChartRow(label="a\x1b[2J", state="x\x1b]0;t\x07", bars=(bar(SpanKind.POD, 0, 1),))
    drawn = "\n".join(timeline_chart.draw(chart(row, title="t\x1b[31m\n"), 120))
    assert "\x1b" not in drawn
    assert r"a\x1b[2J" in drawn


def test_the_legend_names_the_kinds_that_the_chart_has() -> None:
    row = ChartRow(label="a", bars=(bar(SpanKind.WAIT, 0, 1),))
    assert list(timeline_chart.draw(chart(row), 80, style=ASCII))[-1] == "// wait"


def test_wide_characters_keep_the_columns_aligned() -> None:
    rows = (instance(0), ChartRow(label="数据", bars=(bar(SpanKind.POD, 0, 100),)))
    lines = list(timeline_chart.draw(chart(*rows), 80, style=ASCII))[3:5]
    assert len({width_of(line[: line.index("#")]) for line in lines}) == 1


@pytest.mark.parametrize(
    ("seconds", "most", "labels"),
    [
        (0.001, 5, ["0s"]),
        (1.0, 5, ["0s", "0.2s", "0.4s", "0.6s", "0.8s", "1s"]),
        (95.0, 4, ["0s", "30s", "1m", "1m30s"]),
        (7200.0, 4, ["0s", "30m", "1h", "1h30m", "2h"]),
        (10 * 86400.0, 3, ["0s", "4d", "8d"]),
    ],
)
def test_ticks_have_round_distances(seconds: float, most: int, labels: list[str]) -> None:
    assert [timeline_axis.tick_label(at) for at in timeline_axis.ticks(seconds, most)] == labels


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0s"),
        (0.54, "0.5s"),
        (9.99, "9.9s"),
        (42.9, "42s"),
        (59.6, "59s"),
        (3661, "1h1m"),
        (90061, "1d1h"),
        (86460, "1d"),
    ],
)
def test_durations_have_two_units_and_a_tenth_below_ten_seconds(seconds: float, text: str) -> None:
    assert timeline_axis.duration(seconds) == text


@pytest.mark.parametrize("seconds", [10.0, 42.5, 59.9, 3661.7, 90061.2])
def test_all_commands_show_the_same_duration(seconds: float) -> None:
    assert timeline_axis.duration(seconds) == times.human(seconds)


@pytest.mark.parametrize("state", ["Succeeded", "Failed", "Cancelled", "Running", "Deferred"])
def test_a_state_has_the_colour_that_tables_give_it(state: str) -> None:
    row = ChartRow(label="a", state=state, bars=(bar(SpanKind.POD, 0, 1),))
    drawn = "\n".join(timeline_chart.draw(chart(row), 120, colour=True))
    assert f"{table.state_colour(state)}{state}" in drawn

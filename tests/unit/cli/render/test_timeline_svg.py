"""The timeline as a picture."""

from xml.etree import ElementTree as ET

import pytest
from torpor_cli.render import timeline_rows, timeline_svg
from torpor_cli.render.timeline_rows import Bar, Chart, ChartRow, SpanKind

_SVG = "{http://www.w3.org/2000/svg}"


def row(label: str = "load", state: str = "Succeeded", note: str = "") -> ChartRow:
    bars = (
        Bar(kind=SpanKind.QUEUED, start=0.0, end=2.0),
        Bar(kind=SpanKind.POD, start=2.0, end=4.0, note=note),
        Bar(kind=SpanKind.WAIT, start=4.0, end=10.0),
    )
    return ChartRow(label=label, state=state, bars=bars)


def drawn(*rows: ChartRow, title: str = "ingest", notes: tuple[str, ...] = ()) -> ET.Element:
    chart = Chart(title=title, state="Succeeded", start=0.0, end=10.0, rows=rows, notes=notes)
    return ET.fromstring("".join(timeline_svg.draw(chart)))


def texts(picture: ET.Element) -> list[str]:
    return [element.text or "" for element in picture.iter(f"{_SVG}text")]


def test_the_picture_is_svg_with_a_row_for_each_instance() -> None:
    picture = drawn(row("list"), row("load"))
    assert picture.tag == f"{_SVG}svg"
    assert {"list", "load", "queued", "pod", "wait"} <= set(texts(picture))


def test_waits_are_hatched_by_a_pattern_that_exists() -> None:
    picture = drawn(row())
    fills = {element.get("fill") for element in picture.iter(f"{_SVG}rect")}
    patterns = {f"url(#{element.get('id')})" for element in picture.iter(f"{_SVG}pattern")}
    assert patterns <= fills
    assert patterns


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a&b\"'", "\x1b[2J\x00", "\ud800\ufffe", "]]>"])
def test_foreign_text_is_escaped_everywhere(text: str) -> None:
    picture = drawn(row(text, state=text, note=text), title=text, notes=(text,))
    assert not list(picture.iter(f"{_SVG}script"))


def test_bars_stay_inside_the_picture_and_have_a_width() -> None:
    late = ChartRow(
        label="late", bars=(Bar(kind=SpanKind.POD, start=-5.0, end=99.0), Bar(kind=SpanKind.POD, start=5.0, end=5.0))
    )
    bars = [element for element in drawn(late).iter(f"{_SVG}rect") if element.find(f"{_SVG}title") is not None]
    assert len(bars) == 2
    for element in bars:
        left, width = float(element.get("x", "")), float(element.get("width", ""))
        assert width >= 1.0
        assert 0 <= left <= left + width <= timeline_svg.WIDTH


def test_a_folded_task_of_ten_thousand_instances_is_a_small_picture() -> None:
    rows = timeline_rows.fold("load", [row(f"load[{number}]") for number in range(10_000)])
    chart = Chart(title="ingest", state="Running", start=0.0, end=10.0, rows=tuple(rows))
    assert len("".join(timeline_svg.draw(chart))) < 20_000


def test_spans_of_a_folded_row_are_merged_where_they_overlap() -> None:
    bars = tuple(Bar(kind=SpanKind.WAIT, start=at, end=at + 2.0) for at in (0.0, 1.0, 5.0))
    assert [(bar.start, bar.end) for bar in timeline_svg.merged(bars)] == [(0.0, 3.0), (5.0, 7.0)]

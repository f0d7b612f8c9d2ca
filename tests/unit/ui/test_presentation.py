"""Rows, columns and heads from objects with any content."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_ui.presentation import instances, overview, run_filters, run_page, run_rows
from torpor_ui.presentation.run_filters import RunFilters
from torpor_views.facts import Facts
from torpor_views.model import RunView

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
FIELDS = st.sampled_from(["metadata", "spec", "status"])
MEMBERS = st.sampled_from(
    [
        *("name", "namespace", "uid", "labels", "creationTimestamp", "state", "conditions", "tasks", "history"),
        *("trigger", "task", "workflow", "templateRef", "runOf", "startTime", "completionTime", "startedAt"),
        *("message", "reason"),
    ]
)
OBJECTS = st.dictionaries(FIELDS, st.dictionaries(MEMBERS, JSON, max_size=6), max_size=3)


@given(OBJECTS)
def test_objects_of_any_content_have_a_row_and_a_page(body: dict[str, Any]) -> None:
    row = run_rows.live(body)
    assert len(row.values()) == len(run_rows.COLUMNS)
    cached = instances.parse(body)
    columns = json.loads(b"".join(instances.encoded([cached], {})))
    assert [len(columns[name]) for name in instances.COLUMNS] == [1] * len(instances.COLUMNS)
    run = RunView.parse(body, [body], now=1.0)
    assert run_page.build(run, Facts()).head["state"]
    assert set(overview.build(run, [cached])) == {"occupancy", "critical"}


def row(**fields: Any) -> run_rows.RunRow:
    return run_rows.RunRow(**{"namespace": "data", "name": "orders-1", "uid": "u", "created": 100.0, **fields})


@pytest.mark.parametrize(
    ("filters", "shown"),
    [
        (RunFilters(), True),
        (RunFilters(states=frozenset({"Failed"})), False),
        (RunFilters(states=frozenset({"Pending", "Failed"})), True),
        (RunFilters(text="ORDERS"), True),
        (RunFilters(text="clicks"), False),
        (RunFilters(template="ingest"), True),
        (RunFilters(template="other"), False),
        (RunFilters(schedule="nightly"), False),
        (RunFilters(labels={"product": "orders"}), True),
        (RunFilters(labels={"product": "clicks"}), False),
        (RunFilters(since=150.0, until=160.0), True),
        (RunFilters(since=201.0), False),
        (RunFilters(until=100.0), False),
        (RunFilters(until=100.5), True),
    ],
)
def test_a_filter_shows_what_it_names(filters: RunFilters, shown: bool) -> None:
    assert filters.accept(row(completed=200.0, template="ingest", labels={"product": "orders"})) is shown


def test_a_run_that_goes_on_is_shown_for_every_later_time() -> None:
    assert RunFilters(since=1e9).accept(row(completed=None))


def test_the_archive_is_asked_only_for_runs_that_have_ended() -> None:
    assert RunFilters().wants_archive
    assert not RunFilters(states=frozenset({"Running"})).wants_archive
    assert not RunFilters(source="live").wants_archive
    assert RunFilters(states=frozenset({"Failed", "Running"})).archive_query() == {"state": "Failed"}


def test_filters_are_read_from_a_query() -> None:
    parsed = run_filters.parse({"ns": "a,b,a", "state": "Failed", "since": "12.5", "text": "x"}, ["k=v=w"])
    assert parsed.namespaces == ("a", "b")
    assert parsed.labels == {"k": "v=w"}
    assert parsed.since == 12.5

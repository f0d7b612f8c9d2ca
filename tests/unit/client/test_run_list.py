from typing import Any

from torpor_client.runs import run_list
from torpor_client.runs.run_list import ListedRun, RunFilters


def run(
    name: str, state: str = "Succeeded", *, created: float = 0.0, completed: float | None = 10.0, **fields: Any
) -> ListedRun:
    return ListedRun(namespace="n", name=name, uid=name, state=state, created=created, completed=completed, **fields)


def test_a_run_of_both_is_listed_once_as_live_and_the_newest_first() -> None:
    live = [run("a", created=1), run("b", created=3)]
    archived = [run("a", created=1, archived=True), run("c", created=2, archived=True)]
    runs = run_list.merged(live, archived, RunFilters())
    assert [(each.name, each.archived) for each in runs] == [("b", False), ("c", True), ("a", False)]


def test_since_keeps_what_goes_on_or_ended_later() -> None:
    runs = run_list.merged(
        [run("old", completed=5), run("new", completed=20), run("on", completed=None)], [], RunFilters(since=9)
    )
    assert {each.name for each in runs} == {"new", "on"}


def test_states_filter_live_and_archived_runs_alike() -> None:
    runs = run_list.merged(
        [run("a", "Failed"), run("b")], [run("c", "Failed", archived=True)], RunFilters(states=frozenset({"Failed"}))
    )
    assert {each.name for each in runs} == {"a", "c"}


def test_the_archive_receives_the_filters_that_it_knows() -> None:
    filters = RunFilters(states=frozenset({"Failed", "Running"}), since=0)
    assert run_list.archive_filters(filters, "team=a,!x") == {
        "state": ["Failed"],
        "since": "1970-01-01T00:00:00.000Z",
        "labels": "team=a,!x",
    }
    assert run_list.archive_filters(filters, "team in (a, b)") is None


def test_the_archive_is_not_read_for_states_that_no_archived_run_has() -> None:
    assert not run_list.concerns_archive(RunFilters(states=frozenset({"Running"})))
    assert run_list.concerns_archive(RunFilters(states=frozenset({"Running", "Failed"})))
    assert run_list.concerns_archive(RunFilters())

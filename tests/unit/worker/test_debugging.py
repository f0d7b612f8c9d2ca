"""One task in this process, as `torpor run --task` calls it."""

import json
import sys
from pathlib import Path

import pytest
from torpor import debugging
from torpor.debugging import FAILED, INTERRUPTED, SUCCEEDED, DebugRequest

_HINT = "torpor: give its event with --event '{...}' to resume it in this process, or --event TIMED_OUT for its timeout"
_TASKS = """
import sys
from torpor import TaskSkipped, context, defer
from torpor.triggers import Http

def double(number):
    print("doubling")
    return number * 2

def upper(text):
    return text.upper()

def who():
    now = context()
    return [now.workflow, now.task, now.map_index, list(now.group_indexes)]

def total(rows):
    return [rows.missing, sum(rows)]

def submit(query):
    return defer(Http(f"https://jobs.example.org/{query}"), then=fetch, timeout="6h", on_timeout=give_up, query=query)

def fetch(event, query):
    return {"query": query, "event": event, "segment": context().segment}

def give_up(query):
    return f"{query} took too long"

def react(event):
    return event

def fail():
    raise ValueError("no rows")

def skip():
    raise TaskSkipped("nothing to do")

def leave():
    sys.exit(0)

def quit_debugger():
    import bdb
    raise bdb.BdbQuit
"""


@pytest.fixture(autouse=True)
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "debug_tasks.py").write_text(_TASKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "debug_tasks", raising=False)


def request(function: str, **fields: object) -> DebugRequest:
    return DebugRequest(python=f"debug_tasks:{function}", task="load", **fields)  # type: ignore[arg-type]


def test_a_task_prints_its_result_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("double", arguments={"number": 4})) == SUCCEEDED
    out, err = capsys.readouterr()
    assert out == "doubling\n8\n"
    assert err == "torpor: load succeeded\n"


def test_the_map_functions_of_arguments_are_applied(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("upper", arguments={"text": "a"}, maps={"text": "debug_tasks:upper"})) == SUCCEEDED
    assert capsys.readouterr().out == '"A"\n'


def test_a_list_of_results_is_what_a_pod_gets(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("total", arguments={"rows": [1, 2]}, lists=("rows",))) == SUCCEEDED
    assert json.loads(capsys.readouterr().out) == [[], 3]


def test_the_context_has_the_instance(capsys: pytest.CaptureFixture[str]) -> None:
    debugging.run(request("who", workflow="ingest", map_index=3, group_indexes=(1,)))
    assert json.loads(capsys.readouterr().out) == ["ingest", "load", 3, [1]]


def test_a_deferral_without_an_event_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("submit", arguments={"query": "q"})) == SUCCEEDED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "torpor: load deferred at the end of segment 0",
        "  trigger     http",
        '  kwargs      {"url": "https://jobs.example.org/q"}',
        "  resumes in  debug_tasks:fetch",
        '  state       {"query": "q"}',
        "  timeout     6h",
        "  on timeout  debug_tasks:give_up",
        _HINT,
    ]


def test_a_deferral_resumes_with_its_event(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("submit", arguments={"query": "q"}, events=('{"rows": 3}',))) == SUCCEEDED
    assert json.loads(capsys.readouterr().out) == {"query": "q", "event": {"rows": 3}, "segment": 1}


def test_a_deferral_that_times_out_resumes_in_on_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("submit", arguments={"query": "q"}, events=("TIMED_OUT",))) == SUCCEEDED
    assert capsys.readouterr().out == '"q took too long"\n'


def test_events_that_are_left_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    debugging.run(request("double", arguments={"number": 1}, events=("1",)))
    assert "1 of the events were not used" in capsys.readouterr().err


def test_the_trigger_before_the_first_pod_takes_the_first_event(capsys: pytest.CaptureFixture[str]) -> None:
    first = {"class": "http", "kwargs": {"url": "u"}}
    assert debugging.run(request("react", first_wait=first)) == SUCCEEDED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("torpor: load waits for its trigger before its first pod\n  trigger     http\n")
    assert debugging.run(request("react", first_wait=first, events=('{"status": 200}',))) == SUCCEEDED
    assert json.loads(capsys.readouterr().out) == {"status": 200}


def test_a_failure_prints_the_traceback_of_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("fail")) == FAILED
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert "entrypoint.py" not in err
    assert "torpor: load failed: ValueError: no rows" in err


def test_a_missing_module_names_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(DebugRequest(python="no_such:f", task="load")) == FAILED
    assert f"no module 'no_such' in this interpreter ({sys.executable})" in capsys.readouterr().err


def test_a_skip_and_an_exit_with_zero_are_no_failures(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("skip")) == SUCCEEDED
    assert "torpor: load skipped itself: nothing to do" in capsys.readouterr().err
    assert debugging.run(request("leave")) == SUCCEEDED


def test_quitting_the_debugger_is_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert debugging.run(request("quit_debugger")) == INTERRUPTED
    assert capsys.readouterr().err == ""


def test_a_request_passes_to_another_process_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    sent = request("who", workflow="ingest", map_index=3, group_indexes=(1, 2), events=("1",))
    assert debugging.main(sent.json()) == SUCCEEDED
    assert json.loads(capsys.readouterr().out) == ["ingest", "load", 3, [1, 2]]

"""What a local run prints at its end."""

from pathlib import Path
from typing import Any

from torpor_cli.local_run import report
from torpor_views.model import RunView

_SPEC = {
    "tasks": [
        {"name": "list", "python": "m:f"},
        {"name": "load", "python": "m:f", "args": {"path": "${tasks.list.result}"}},
        {"name": "report", "after": ["load"], "python": "m:f"},
        {"name": "check", "python": "m:f"},
    ]
}
_RUN = {"spec": _SPEC}


def taskrun(task: str, state: str, index: int = -1, **status: Any) -> dict[str, Any]:
    spec = {"workflow": {"name": "x", "uid": "u"}, "task": task, "mapIndex": index}
    name = f"x-{task}" if index < 0 else f"x-{task}-{index}"
    return {"metadata": {"name": name, "uid": name}, "spec": spec, "status": {"state": state, "attempt": 1, **status}}


def run(*taskruns: dict[str, Any]) -> RunView:
    workflow = {"metadata": {"name": "x", "uid": "u"}, "spec": _SPEC, "status": {"state": "Failed"}}
    return RunView.parse(workflow, taskruns, now=0.0)


def test_the_results_of_the_last_tasks_are_printed() -> None:
    results = {"list": ["a"], "load": 1, "report": {"rows": 3}, "check": None}
    assert list(report.result_lines(_RUN, results)) == ['result of report: {"rows": 3}']


def test_the_result_of_the_run_is_printed_instead_of_those_of_tasks() -> None:
    run = {"spec": _SPEC, "status": {"result": '{"rows":3}'}}
    assert list(report.result_lines(run, {"report": 1})) == ['result: {"rows": 3}']


def test_a_text_of_several_lines_is_readable() -> None:
    lines = list(report.result_lines(_RUN, {"report": {"table": "A B\n1 2", "rows": 1}, "check": "a\nb"}))
    assert lines == ["result of report:\ntable: |-\n  A B\n  1 2\nrows: 1", "result of check:\na\nb"]


def test_a_long_result_is_cut() -> None:
    (line,) = report.result_lines(_RUN, {"report": "x" * 5_000})
    assert line.endswith("x... (5,000 characters)")
    assert len(line) < 4_100


def test_failures_have_the_last_lines_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = "\n".join(f"line {number}" for number in range(20))
    (tmp_path / "logs" / "x-load-3-a2-s1.log").write_text(log)
    failed = taskrun("load", "Failed", 3, attempt=2, segment=1, reason="Error", message="ValueError: no rows")
    lines = list(report.failure_lines(run(failed, taskrun("list", "Succeeded")), tmp_path))
    assert lines == ["load/3 failed: ValueError: no rows", *(f"  | line {number}" for number in range(10, 20))]


def test_many_failures_are_counted(tmp_path: Path) -> None:
    failed = [taskrun("load", "Failed", index, message="no") for index in range(8)]
    lines = list(report.failure_lines(run(*failed), tmp_path))
    assert lines == [*(f"load/{index} failed: no" for index in range(5)), "... and 3 more failures"]


def test_the_outcome_is_an_object_for_scripts(tmp_path: Path) -> None:
    workflow = {
        "metadata": {"name": "x", "uid": "u"},
        "spec": _SPEC,
        "status": {
            "state": "Failed",
            "conditions": [{"type": "Succeeded", "status": "False", "reason": "Error", "message": "task load: no"}],
        },
    }
    failed = run(taskrun("load", "Failed", reason="Error", message="no"))
    assert report.as_json(workflow, {"list": 1}, failed, tmp_path) == {
        "run": "x",
        "state": "Failed",
        "message": "task load: no",
        "results": {"list": 1},
        "failures": [{"task": "load", "reason": "Error", "message": "no"}],
        "folder": str(tmp_path),
    }


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("x" * 100_000 + "\nlast\n")
    first, last = report.tail(log)
    assert (len(first) < 40_000, last) == (True, "last")
    assert report.tail(tmp_path / "none") == ()


def test_an_enormous_result_is_cut_and_not_written_as_yaml() -> None:
    (line,) = report.result_lines(_RUN, {"report": ["a\nb"] * 20_000})
    assert line.startswith('result of report: ["a\\nb", "a')
    assert line.endswith(" characters)")

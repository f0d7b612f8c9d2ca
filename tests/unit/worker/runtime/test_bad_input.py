"""Bad input: each ends the TaskRun with a reason, and a message that a person can act on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.worker.conftest import TaskPod, TaskRunApi

AGAIN = {"retries": {"limit": 3}}
CASES: list[tuple[str, str, str, str]] = [
    (
        "an argument too few",
        "def load(path, day): pass",
        "ArgumentsInvalid",
        "load() missing 1 required positional argument: 'day'; load(path, day) is given path",
    ),
    (
        "an argument too many",
        "def load(): pass",
        "ArgumentsInvalid",
        "load() got an unexpected keyword argument 'path'; load() is given path",
    ),
    (
        "a class made with the wrong arguments",
        "class load:\n def __init__(self, paths): pass\n def execute(self, context): pass",
        "ArgumentsInvalid",
        "got an unexpected keyword argument 'path'",
    ),
    ("a result of another type", "def load(path): return {'a': [1, {2}]}", "ResultInvalid", "$.a[1] is of type set"),
    ("a result that is not a number", "def load(path): return float('nan')", "ResultInvalid", "$ is nan"),
    ("a result with keys of another type", "def load(path): return {1: 2}", "ResultInvalid", "the key 1"),
    (
        "a result that holds itself",
        "def load(path):\n r = []\n r.append(r)\n return r",
        "ResultInvalid",
        "contains itself",
    ),
    (
        "a result that is too large",
        "def load(path): return 'x' * 8191",
        "ResultInvalid",
        "the result has 8193 bytes of JSON, above the limit of 8192",
    ),
    (
        "a result that raises when it is read",
        """
from collections import UserDict
class Bad(UserDict):
    def items(self): raise OSError('gone')
def load(path): return Bad()
""",
        "ResultInvalid",
        "the result cannot be written as JSON: OSError: gone",
    ),
    (
        "a generator",
        "def load(path): yield 1",
        "ResultInvalid",
        "$ is of type generator",
    ),
    ("a name that is no function", "load = 5", "FunctionNotFound", "is of type int, not a function or a class"),
    ("a class without execute", "class load: pass", "FunctionNotFound", "has no execute(context) method"),
    (
        "a function that is misspelt",
        "def loads(path): pass\ndef lode(path): pass\ndef unlike(path): pass",
        "FunctionNotFound",
        "has no 'load'; it has loads, lode",
    ),
    (
        "a function that is not there",
        "from torpor import task\n@task\ndef measure(path): pass",
        "FunctionNotFound",
        "has no 'load'; it has measure",
    ),
    (
        "a failure that a retry cannot mend",
        "from torpor import TaskFailed\ndef load(path): raise TaskFailed('no such day')",
        "Error",
        "no such day",
    ),
    (
        "a failure that Airflow calls final",
        "class AirflowFailException(Exception): pass\ndef load(path): raise AirflowFailException('no')",
        "Error",
        "AirflowFailException: no",
    ),
    (
        "a sensor of Airflow's whose time is over",
        "class AirflowSensorTimeout(Exception): pass\ndef load(path): raise AirflowSensorTimeout('nothing came')",
        "Error",
        "AirflowSensorTimeout: nothing came",
    ),
    (
        "a task that skips what follows it as Airflow does",
        "class DownstreamTasksSkipped(Exception): pass\ndef load(path): raise DownstreamTasksSkipped()",
        "Error",
        "DownstreamTasksSkipped has no effect in Torpor: set `branch: true`",
    ),
    (
        "a task that starts another run as Airflow does",
        "class DagRunTriggerException(Exception): pass\ndef load(path): raise DagRunTriggerException()",
        "Error",
        "create a Workflow with a Kubernetes client instead, and wait for it with torpor.triggers.WorkflowEnd",
    ),
    (
        "a reschedule without a moment",
        "class AirflowRescheduleException(Exception): pass\ndef load(path): raise AirflowRescheduleException()",
        "Error",
        "AirflowRescheduleException has no effect in Torpor: it has no reschedule_date",
    ),
]


@pytest.mark.parametrize(("source", "reason", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_input_fails_with_its_reason_and_is_not_tried_again(
    task: Callable[..., TaskPod], source: str, reason: str, message: str
) -> None:
    pod = task(source, spec=None, path="a.csv")
    pod.cluster.taskruns[pod.name]["spec"] |= AGAIN

    assert pod.run() == 1
    assert pod.status["state"] == "Failed"
    assert pod.status["reason"] == reason
    assert message in pod.status["message"]


def test_a_module_that_is_not_in_the_image_is_named_with_the_image(task: Callable[..., TaskPod]) -> None:
    pod = task("", spec={"python": "warehouse.tasks:load"})

    assert pod.run() == 1
    assert pod.status["reason"] == "ModuleNotFound"
    assert pod.status["message"].startswith("no module 'warehouse' in ingest:1.4: install its package")


def test_a_module_whose_own_import_is_missing_names_what_is_missing(
    task: Callable[..., TaskPod], capsys: pytest.CaptureFixture[str]
) -> None:
    pod = task("import numpyy\ndef load(): pass")

    assert pod.run() == 1
    assert pod.status["reason"] == "ModuleNotFound"
    assert "imports a missing module: No module named 'numpyy'" in pod.status["message"]
    assert "import numpyy" in capsys.readouterr().err


def test_a_module_that_raises_when_imported_fails_with_its_error(task: Callable[..., TaskPod]) -> None:
    pod = task("1 / 0\ndef load(): pass", spec=AGAIN)

    assert pod.run() == 1
    assert pod.status["state"] == "UpForRetry"
    assert pod.status["message"].startswith("ZeroDivisionError: division by zero (at ")


def test_an_exception_is_a_line_in_the_status_and_complete_in_the_log(
    task: Callable[..., TaskPod], capsys: pytest.CaptureFixture[str]
) -> None:
    pod = task("def load():\n    parse()\ndef parse():\n    raise ValueError('row 3')", spec=AGAIN)

    assert pod.run() == 1
    assert pod.status["state"] == "UpForRetry"
    assert pod.status["reason"] == "Error"
    message = pod.status["message"]
    assert message.startswith("ValueError: row 3 (at ")
    assert message.endswith("authored_0.py:2 load)")
    log = capsys.readouterr().err
    assert log.startswith("Traceback (most recent call last):\n")
    assert "raise ValueError('row 3')" in log
    assert "/runtime/" not in log


def test_a_type_error_inside_the_function_is_not_taken_for_wrong_arguments(task: Callable[..., TaskPod]) -> None:
    pod = task("def load():\n    parse(1)\ndef parse():\n    pass", spec=AGAIN)

    pod.run()

    assert pod.status["reason"] == "Error"
    assert pod.status["state"] == "UpForRetry"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys\ndef load(): sys.exit(3)", "the task called sys.exit(3)"),
        ("import sys\ndef load(): sys.exit('no input')", "the task called sys.exit('no input')"),
        ("def load(): return load()", "RecursionError: maximum recursion depth exceeded"),
        ("def load(): raise ValueError('x' * 10**7)", "ValueError: xxxx"),
        ("class Bad(Exception):\n def __str__(self): raise OSError\ndef load(): raise Bad", "Bad: (its text is not"),
        ("class Stop(BaseException): pass\ndef load(): raise Stop('x')", "Stop: x"),
        ("def load(): raise ExceptionGroup('two', [OSError('a'), KeyError('b')])", "OSError: a; KeyError: 'b'"),
        ("from torpor import TaskFailed\ndef load(): raise TaskFailed('busy', retryable=True)", "busy"),
        ("def load(): raise ValueError('\\udc80')", "ValueError: \\udc80"),
    ],
)
def test_every_exception_of_a_function_is_reported(task: Callable[..., TaskPod], source: str, message: str) -> None:
    pod = task(source, spec=AGAIN)

    assert pod.run() == 1
    assert pod.status["state"] == "UpForRetry"
    assert pod.status["reason"] == "Error"
    assert message in pod.status["message"]
    assert len(pod.status["message"].encode()) <= 1024


def test_the_interrupt_of_a_pod_is_not_reported(task: Callable[..., TaskPod], cluster: TaskRunApi) -> None:
    pod = task("def load(): raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        pod.run()
    assert pod.status["state"] == "Running"
    assert len(cluster.patches) == 1


DEEP = """
import json
def parse(text):
    return json.loads(text)
def load():
    return parse("{")
"""


def test_a_failure_in_a_library_names_the_line_of_the_task_that_called_it(task: Callable[..., TaskPod]) -> None:
    pod = task(DEEP)

    assert pod.run() == 1
    message = pod.status["message"]
    at = re.search(r"\(at (.*)\)$", message)
    assert at is not None
    own, caller, library = at[1].split(", ")
    assert own.endswith(":4 parse")
    assert caller.startswith("in ")
    assert caller.endswith(":6 load")
    assert library.startswith("raised in json/")


def test_the_code_of_a_task_that_is_installed_as_a_package_is_its_own(
    task: Callable[..., TaskPod], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    (site / "acme").mkdir(parents=True)
    (site / "acme" / "__init__.py").touch()
    (site / "acme" / "rows.py").write_text("def first(rows):\n    return rows[0]\n")
    (site / "acme" / "tasks.py").write_text("from acme import rows\ndef load():\n    return rows.first([])\n")
    monkeypatch.syspath_prepend(str(site))
    pod = task("", spec={"python": "acme.tasks:load"})

    assert pod.run() == 1
    assert "(at acme/rows.py:2 first, in acme/tasks.py:3 load)" in pod.status["message"]

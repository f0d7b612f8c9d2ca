"""`torpor run --task` as a process: its standard input and output belong to the task."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from torpor import debugging
from torpor_cli.errors import ExitCode
from torpor_local import private_folder

_FILE = """\
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {generateName: ingest-}
spec:
  image: python:3.12-slim
  params: {day: monday}
  tasks:
  - name: load
    python: "ingest_tasks:load"
    expand: [{name: path, over: [a, b]}]
    args: {day: "${params.day}"}
  - name: stop
    python: "ingest_tasks:stop"
  - name: fail
    python: "ingest_tasks:fail"
  - name: wait
    python: "ingest_tasks:wait"
"""
_TASKS = """\
import sys

def load(path, day):
    print("reading", sys.stdin.readline().strip())
    return f"{path} of {day}"

def stop():
    answer = 41
    breakpoint()
    return answer

def fail():
    raise ValueError("no rows")

def wait():
    print("begun", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ingest.yaml").write_text(_FILE)
    (tmp_path / "ingest_tasks.py").write_text(_TASKS)
    return tmp_path


def torpor(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(
        [sys.executable, "-m", "torpor_cli", "run", *arguments],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def bare_python(folder: Path) -> str:
    """An interpreter without packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "bare"], check=True)
    return str(folder / "bare")


def test_a_task_reads_standard_input_and_its_result_is_printed(folder: Path) -> None:
    ended = torpor(folder, "ingest.yaml", "--task", "load/1", "-p", "day=friday", stdin="a line\n")
    assert (ended.returncode, ended.stdout) == (0, 'reading a line\n"b of friday"\n')
    assert ended.stderr == "torpor: load succeeded\n"


def test_a_task_runs_in_an_interpreter_that_does_not_have_the_sdk(folder: Path, bare_python: str) -> None:
    ended = torpor(folder, "ingest.yaml", "--task", "load/0", "--python", bare_python, stdin="a line\n")
    assert (ended.returncode, ended.stdout) == (0, 'reading a line\n"a of monday"\n')


def test_the_folder_of_a_task_that_outlives_the_command_stays(folder: Path, bare_python: str) -> None:
    temporary = folder / "tmp"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "torpor_cli", "run", "ingest.yaml", "--task", "wait", "--python", bare_python],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.kill()
        process.wait()
        private_folder.remove_abandoned(temporary)
        assert list(temporary.glob("torpor-*/lib/torpor"))


def test_the_code_of_a_source_is_importable(folder: Path, bare_python: str) -> None:
    text = _FILE.replace("image: python:3.12-slim", "image: python:3.12-slim\n  source: {configMap: scripts}")
    (folder / "ingest.yaml").write_text(text)
    (folder / "scripts").mkdir()
    (folder / "ingest_tasks.py").rename(folder / "scripts" / "ingest_tasks.py")
    for options in ((), ("--python", bare_python)):
        ended = torpor(folder, "ingest.yaml", "--task", "load/1", *options, stdin="a line\n")
        assert (ended.returncode, ended.stdout) == (0, 'reading a line\n"b of monday"\n'), ended.stderr
    code = (folder / "scripts" / "ingest_tasks.py").read_text()
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "inline"},
        "data": {"inline_tasks.py": code},
    }
    text = text.replace("scripts}", "inline}").replace("ingest_tasks:", "inline_tasks:")
    (folder / "ingest.yaml").write_text(f"{text}---\n{json.dumps(config)}\n")
    ended = torpor(folder, "ingest.yaml", "--task", "load/1", stdin="a line\n")
    assert (ended.returncode, ended.stdout) == (0, 'reading a line\n"b of monday"\n'), ended.stderr


def test_a_failed_task_has_the_exit_code_of_a_failed_run(folder: Path, bare_python: str) -> None:
    for options in ((), ("--python", bare_python)):
        ended = torpor(folder, "ingest.yaml", "--task", "fail", *options)
        assert ended.returncode == ExitCode.RUN_FAILED
        assert "Traceback" in ended.stderr
        assert "torpor: fail failed: ValueError: no rows" in ended.stderr


@pytest.mark.parametrize("bare", [False, True], ids=["this process", "another interpreter"])
def test_a_breakpoint_stops_in_the_terminal_of_the_user(folder: Path, bare_python: str, bare: bool) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "torpor_cli", "run", "ingest.yaml", "--task", "stop"]
    with subprocess.Popen(
        [*command, *(("--python", bare_python) if bare else ())],
        cwd=folder,
        env={**os.environ, "VIRTUAL_ENV": "", "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        os.write(ours, b"answer = answer + 1\ncontinue\n")
        shown = _read_all(ours)
        assert process.wait(60) == 0
    os.close(ours)
    assert "(Pdb)" in shown
    assert shown.rstrip().endswith("42")


def _read_all(terminal: int) -> str:
    content = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return content.decode()
        if not part:
            return content.decode()
        content += part


def test_a_file_with_errors_is_reported_as_lint_does(folder: Path) -> None:
    (folder / "bad.yaml").write_text(_FILE.replace("args:", "arguments:"))
    ended = torpor(folder, "bad.yaml", "--task", "load")
    linted = subprocess.run(
        [sys.executable, "-m", "torpor_cli", "lint", "bad.yaml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (linted.returncode, linted.stdout, linted.stderr)
    assert ended.returncode == ExitCode.FAILED


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--args", "[1]"), 'torpor: --args [1]: write a JSON object, such as \'{"path": "a.csv"}\'\n'),
        (("--event", "{"), "torpor: --event {: this is not JSON: "),
        (("--python", "no-such"), "torpor: --python no-such: there is no such program\n"),
    ],
)
def test_options_that_are_invalid_are_reported(folder: Path, options: tuple[str, str], expected: str) -> None:
    ended = torpor(folder, "ingest.yaml", "--task", "load", *options)
    assert ended.returncode == ExitCode.USAGE
    assert ended.stderr.startswith(expected)


def test_the_exit_codes_are_those_of_the_command() -> None:
    codes = (ExitCode.SUCCEEDED, ExitCode.RUN_FAILED, ExitCode.INTERRUPTED)
    assert codes == (debugging.SUCCEEDED, debugging.FAILED, debugging.INTERRUPTED)

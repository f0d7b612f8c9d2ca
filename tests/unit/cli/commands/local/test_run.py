"""`torpor run` as a process: a whole run without a cluster."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.__main__ import main
from torpor_cli.errors import ExitCode

_ROOT = Path(__file__).resolve().parents[5]
_FILE = """\
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {name: ingest}
spec:
  image: python:3.12-slim
  params: {limit: 2}
  tasks:
  - name: drop
    trigger: {class: duration, kwargs: {duration: 100ms}}
  - name: list
    after: [drop]
    python: "ingest_tasks:list_files"
    args: {limit: "${params.limit}"}
  - name: load
    python: "ingest_tasks:load"
    expand: [{name: path, over: "${tasks.list.result}"}]
    pod: {resources: {requests: {memory: 1Gi}}}
  - name: total
    python: "ingest_tasks:total"
    args: {sizes: "${tasks.load.results}"}
"""
_TASKS = """\
import os

def list_files(limit):
    return ["a" * number for number in range(1, limit + 1)]

def load(path):
    print("loading", path)
    if path == "aaa":
        raise ValueError("a bad file")
    return len(path)

def total(sizes):
    return {"total": sum(sizes)}

def sleep():
    import time
    time.sleep(600)
"""
_FLOW = """\
from torpor import task
from torpor.authoring import workflow

@task
def double(number: int) -> int:
    return 2 * number

@workflow(image="python:3.12-slim")
def ingest(limit: int = 2) -> None:
    double(limit)
"""
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ingest.yaml").write_text(_FILE)
    (tmp_path / "ingest_tasks.py").write_text(_TASKS)
    return tmp_path


def torpor(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "torpor_cli", "run", *arguments],
        cwd=folder,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def states(printed: str) -> list[tuple[str, str]]:
    """Task and state of each line that is a transition."""
    lines = [line.split() for line in printed.splitlines() if line[:2] == "20"]
    return [(words[1], words[2]) for words in lines]


def test_a_run_prints_its_transitions_and_the_result(folder: Path) -> None:
    ended = torpor(folder, "ingest.yaml")
    assert ended.returncode == ExitCode.SUCCEEDED, ended.stdout + ended.stderr
    transitions = states(ended.stdout)
    assert transitions[0] == ("ingest", "Pending")
    assert transitions[-1] == ("ingest", "Succeeded")
    for task in ("drop", "list", "load/0", "load/1", "total"):
        assert (task, "Succeeded") in transitions
    assert ended.stdout.splitlines()[-1] == 'result of total: {"total": 3}'
    assert ended.stderr.splitlines() == [
        (
            "a local run has no resource limits, evictions, ServiceAccounts or other users; "
            "`torpor run --help` lists what differs"
        ),
        "a local run ignores: image of Python tasks; pod.resources (load)",
        "logs are in .torpor/runs/ingest/logs; `torpor run --show .torpor/runs/ingest` shows the run again",
    ]
    logs = (folder / ".torpor" / "runs" / "ingest" / "logs").glob("ingest-load-1-*.log")
    assert [log.read_text() for log in logs] == ["loading aa\n"]


def test_a_failed_run_prints_the_end_of_the_log(folder: Path) -> None:
    ended = torpor(folder, "ingest.yaml", "-p", "limit=3", "--folder", "out")
    assert ended.returncode == ExitCode.RUN_FAILED
    assert ("ingest", "Failed") in states(ended.stdout)
    assert "load/2 failed: ValueError: a bad file (at " in ended.stdout
    assert "\n  | loading aaa\n  | Traceback (most recent call last):\n" in ended.stdout


def test_a_run_is_shown_again_from_its_folder(folder: Path) -> None:
    torpor(folder, "ingest.yaml", "-p", "limit=3", "--folder", "out")
    shown = torpor(folder, "--show", "out")
    assert shown.returncode == ExitCode.RUN_FAILED
    lines = shown.stdout.splitlines()
    assert lines[1].split()[:2] == ["ingest", "Failed"]
    assert any("load/2" in line and "Failed" in line for line in lines), shown.stdout
    assert "  | loading aaa" in lines
    assert shown.stderr == "the logs of the pods are in out/logs\n"
    stored = json.loads(torpor(folder, "--show", "out", "-o", "json").stdout)
    assert (stored["state"], stored["results"]["list"]) == ("Failed", ["a", "aa", "aaa"])
    again = torpor(folder, "ingest.yaml", "--folder", "out")
    assert again.returncode == ExitCode.FAILED
    assert again.stderr == "torpor: the folder out has a run already: resume it, or choose another folder\n"
    with (folder / "out" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        again = torpor(folder, "ingest.yaml", "--folder", "out")
    assert again.returncode == ExitCode.FAILED
    assert again.stderr == (
        "torpor: another local run uses the folder out: wait for its end, or choose another folder\n"
    )


def test_a_killed_run_is_shown_and_resumed(folder: Path) -> None:
    (folder / "ingest.yaml").write_text(_FILE.replace("duration: 100ms", "duration: 3s"))
    command = [sys.executable, "-m", "torpor_cli", "run", "ingest.yaml"]
    with subprocess.Popen(
        command, cwd=folder, env=_ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if states(line) == [("drop", "Deferred")]:
                process.kill()
    shown = torpor(folder, "--show", ".torpor/runs/ingest")
    assert (shown.returncode, "drop" in shown.stdout) == (ExitCode.SUCCEEDED, True)
    assert "the run has not ended; `torpor run --resume .torpor/runs/ingest` continues it\n" in shown.stderr
    resumed = torpor(folder, "--resume", ".torpor/runs/ingest", "-o", "json")
    assert resumed.returncode == ExitCode.SUCCEEDED, resumed.stderr
    assert json.loads(resumed.stdout)["results"]["total"] == {"total": 3}


def test_a_folder_without_a_run_is_refused(folder: Path) -> None:
    shown = torpor(folder, "--show", ".")
    assert shown.returncode == ExitCode.USAGE
    assert shown.stderr == "torpor: . has no run; the folders of runs are in .torpor/runs\n"


def test_a_script_gets_one_object(folder: Path) -> None:
    ended = torpor(folder, "ingest.yaml", "-o", "json")
    outcome: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.returncode, outcome["run"], outcome["state"], outcome["failures"]) == (0, "ingest", "Succeeded", [])
    assert outcome["results"]["load"] == [1, 2]
    assert outcome["results"]["total"] == {"total": 3}
    assert outcome["folder"] == ".torpor/runs/ingest"


def test_the_workflow_of_a_function_runs(folder: Path) -> None:
    (folder / "flows.py").write_text(_FLOW)
    ended = torpor(folder, "flows:ingest", "-p", "limit=3", "-o", "json")
    assert ended.returncode == ExitCode.SUCCEEDED, ended.stderr
    outcome = json.loads(ended.stdout)
    assert (outcome["results"]["double"], outcome["run"].startswith("ingest-")) == (6, True)
    alone = torpor(folder, "flows:ingest", "--task", "double")
    assert (alone.returncode, alone.stdout) == (ExitCode.SUCCEEDED, "4\n")


def test_waits_are_answered_and_time_is_skipped(folder: Path) -> None:
    (folder / "ingest.yaml").write_text(_FILE.replace("duration: 100ms", "duration: 100d"))
    ended = torpor(folder, "ingest.yaml", "--skip-time", "-o", "json")
    assert (ended.returncode, json.loads(ended.stdout)["state"]) == (ExitCode.SUCCEEDED, "Succeeded")
    ended = torpor(folder, "ingest.yaml", "--event", 'drop={"a": 1}', "-o", "json")
    assert (ended.returncode, json.loads(ended.stdout)["results"]["drop"]) == (ExitCode.SUCCEEDED, {"a": 1})


def test_what_needs_a_cluster_is_refused_before_the_run(folder: Path) -> None:
    approval = "trigger: {class: approval, kwargs: {question: Now?}}"
    (folder / "ingest.yaml").write_text(
        _FILE.replace("trigger: {class: duration, kwargs: {duration: 100ms}}", approval)
    )
    ended = torpor(folder, "ingest.yaml")
    assert (ended.returncode, ended.stdout) == (ExitCode.FAILED, "")
    assert ended.stderr == (
        "torpor: ingest.yaml: task drop waits for an approval; answer it with --answer drop=approved, or rejected\n"
    )
    assert not (folder / ".torpor").exists()
    ended = torpor(folder, "ingest.yaml", "--answer", "drop=rejected", "-o", "json")
    assert (ended.returncode, json.loads(ended.stdout)["results"]["drop"]["approved"]) == (ExitCode.SUCCEEDED, False)


def test_a_config_map_whose_key_leads_out_of_its_folder_is_refused(folder: Path) -> None:
    code = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\ndata: {"../x": text}\n'
    (folder / "ingest.yaml").write_text(f"{_FILE}---\n{code}")
    for arguments in (("ingest.yaml",), ("ingest.yaml", "--task", "list")):
        ended = torpor(folder, *arguments)
        assert ended.returncode == ExitCode.FAILED
        assert ended.stderr.startswith("torpor: ingest.yaml: ConfigMap code is invalid: data[../x]: a valid config key")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "write one of FILE, --resume FOLDER and --show FOLDER"),
        (("ingest.yaml", "--resume", "x"), "write one of FILE, --resume FOLDER and --show FOLDER"),
        (("--resume", "gone"), "--resume gone: there is no such folder"),
        (("--show", "x", "--task", "load"), "--task needs FILE, not --show"),
        (("ingest.yaml", "--args", "{}"), "--args is for --task"),
        (("ingest.yaml", "--event", "dorp=1"), "there is no task 'dorp'; did you mean drop?"),
        (("ingest.yaml", "--jobs", "0"), "Invalid value for '--jobs'"),
    ],
)
def test_a_wrong_command_line_is_refused(
    folder: Path,
    arguments: tuple[str, ...],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    assert main(["run", *arguments]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err


def test_the_census_example_runs_unchanged(tmp_path: Path) -> None:
    ended = torpor(tmp_path, str(_ROOT / "examples" / "census.yaml"), "-p", "pause=10ms", "-o", "json")
    assert ended.returncode == ExitCode.SUCCEEDED, ended.stderr
    outcome = json.loads(ended.stdout)
    assert outcome["results"]["report"]["table"].startswith("SECTION")
    assert len(outcome["results"]["measure"]) == len(outcome["results"]["sections"])


_OWN_TRIGGER = """\
from torpor.triggers import BaseTrigger

class Tide(BaseTrigger):
    def __init__(self, harbour: str) -> None:
        self.harbour = harbour

    def serialize(self):
        return "tide", {"harbour": self.harbour}

    async def poll(self):
        return {"harbour": self.harbour}
"""


def test_a_trigger_class_of_the_user_runs(folder: Path) -> None:
    (folder / "own_tides.py").write_text(_OWN_TRIGGER)
    (folder / "tide.yaml").write_text(
        "apiVersion: torpor.dev/v1alpha1\nkind: Workflow\nmetadata: {name: tide}\nspec:\n  triggerPool: tides\n"
        "  tasks:\n  - {name: high, trigger: {class: tide, kwargs: {harbour: Husum}, timeout: 1h}}\n"
    )
    done = torpor(folder, "tide.yaml", "--trigger", "tide=own_tides:Tide")
    assert (done.returncode, done.stderr) == (ExitCode.SUCCEEDED, done.stderr)
    assert "Husum" in done.stdout
    refused = torpor(folder, "tide.yaml", "--trigger", "tide=own_tides:Moon")
    assert refused.returncode == ExitCode.USAGE
    assert "trigger tide: own_tides:Moon" in refused.stderr

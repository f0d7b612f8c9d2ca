"""submit, get, list, wait, version and completion on a real cluster."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.e2e.cli.conftest import Terminal, ask, broken, manifest, pause
from tests.e2e.conftest import TASKS

_PARAMS = {"day": "2026-11-20", "limit": 3}


@pytest.fixture(scope="module")
def ended(torpor: Terminal) -> dict[str, str]:
    """The names of a run that succeeded and of one that failed."""
    names = {"good": torpor.submit(pause(), params=_PARAMS), "bad": torpor.submit(pause(), broken(after=["pause"]))}
    torpor.run("wait", *names.values(), "--timeout", "5m")
    return names


def test_submit_prints_the_name_and_waits_for_the_outcome(torpor: Terminal) -> None:
    good = torpor.run("submit", "-", "--wait", "--timeout", "5m", stdin=manifest(pause()))
    assert good.code == 0
    name, outcome = good.out.splitlines()
    assert outcome.startswith(f"{name} Succeeded after ")
    bad = torpor.run("submit", "-", "--watch", "--timeout", "5m", stdin=manifest(broken()))
    assert bad.code == 3
    assert bad.out.splitlines()[0].startswith("cli-")
    assert " Failed " in bad.out.splitlines()[-1]


def test_submit_follows_the_logs(torpor: Terminal) -> None:
    task = {"name": "check", "container": {"command": ["sh", "-c", "echo one; echo two"]}}
    output = torpor.ok("submit", "-", "--logs", "--timeout", "5m", stdin=manifest(task, image=TASKS.name))
    assert [line.split()[-1] for line in output.splitlines()[1:3]] == ["one", "two"]
    assert " Succeeded after " in output.splitlines()[-1]


def test_submit_takes_files_documents_and_params(torpor: Terminal, tmp_path: Path) -> None:
    documents = manifest(pause(), params=_PARAMS) + "---\n" + manifest(pause(), params=_PARAMS)
    (tmp_path / "run.yaml").write_text(documents)
    (tmp_path / "params.yaml").write_text("limit: 5\n")
    file, params = str(tmp_path / "run.yaml"), str(tmp_path / "params.yaml")
    names = torpor.ok("submit", file, "-p", "day=2026-11-21", "--params-file", params).split()
    assert len(set(names)) == 2
    workflow = json.loads(torpor.ok("get", names[0], "-o", "json"))
    assert workflow["spec"]["params"] == {"day": "2026-11-21", "limit": 5}


def test_a_dry_run_creates_nothing(torpor: Terminal) -> None:
    name = torpor.ok("submit", "-", "--dry-run=server", stdin=manifest(pause())).strip()
    assert torpor.run("get", name).code == 1


def test_what_the_api_server_rejects_is_one_line(torpor: Terminal) -> None:
    rejected = torpor.run("submit", "-", stdin=manifest({"name": "x", "pythn": "m:f"}))
    assert (rejected.code, rejected.out, rejected.err.count("\n")) == (1, "", 1)
    assert "pythn" in rejected.err
    name = torpor.ok("submit", "-", stdin=manifest(pause(), name="taken")).strip()
    again = torpor.run("submit", "-", stdin=manifest(pause(), name="taken"))
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert f"torpor resubmit {name}" in again.err


def test_get_shows_the_tree_of_a_run(torpor: Terminal, ended: dict[str, str]) -> None:
    tree = torpor.ok("get", ended["bad"])
    rows = [line.split() for line in tree.splitlines()]
    assert rows[1][:2] == [ended["bad"], "Failed"]
    assert [row[1:3] for row in rows[2:]] == [["pause", "Succeeded"], ["broken", "Failed"]]
    body = yaml.safe_load(torpor.ok("get", ended["bad"], "-o", "yaml"))
    assert (body["kind"], body["metadata"]["name"]) == ("Workflow", ended["bad"])
    assert torpor.ok("get", f"{ended['bad']}/broken", "-o", "name").startswith("taskrun.torpor.dev/")


def test_a_mapped_task_is_folded(torpor: Terminal) -> None:
    lengths = "${['10ms', '20ms', '30ms']}"
    mapped = {"name": "each", "trigger": {"class": "duration"}, "expand": [{"name": "duration", "over": lengths}]}
    name = torpor.submit(mapped)
    torpor.ok("wait", name, "--timeout", "5m")
    assert "3/3" in torpor.ok("get", name)
    assert len(torpor.ok("get", f"{name}/each").splitlines()) == 6


def test_list_shows_states_and_filters_them(torpor: Terminal, ended: dict[str, str]) -> None:
    failed = torpor.ok("list", "--state", "failed", "--since", "1h", "-o", "name")
    assert f"workflow.torpor.dev/{ended['bad']}\n" in failed
    assert ended["good"] not in failed
    everywhere = torpor.ok("list", "-A", "-o", "wide")
    assert [torpor.namespace, ended["good"]] in [line.split()[:2] for line in everywhere.splitlines()]


def test_wait_tells_the_outcome_by_its_exit_code(torpor: Terminal, ended: dict[str, str]) -> None:
    assert torpor.run("wait", ended["good"]).code == 0
    assert torpor.run("wait", ended["good"], ended["bad"]).code == 3
    assert torpor.run("wait", ended["bad"], "--for", "failed").code == 0
    waiting = torpor.submit(ask())
    late = torpor.run("wait", waiting, "--timeout", "1s")
    assert (late.code, late.err) == (5, f"timed out; {waiting} goes on\n")


def test_ctrl_c_ends_the_command_and_not_the_run(torpor: Terminal) -> None:
    waiting = torpor.submit(ask())
    process = torpor.start("get", waiting, "-w")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (130, f"interrupted; run {waiting} goes on\n")
    assert torpor.run("wait", waiting, "--for", "running", "--timeout", "5m").code == 0


@pytest.mark.parametrize("plain", [False, True], ids=["colours", "no-color"])
def test_a_terminal_shows_the_tree_and_draws_it_again(torpor: Terminal, plain: bool) -> None:
    waiting = torpor.submit(ask())
    shown = _on_terminal(torpor.command("get", waiting, "-w"), "ask", plain=plain)
    assert "\x1b[0J" in shown
    assert ("\x1b[34m" in shown) is not plain


def _on_terminal(command: list[str], text: str, *, plain: bool) -> str:
    """What a terminal receives until a text has come and a second has passed."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"} | ({"NO_COLOR": "1"} if plain else {})
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    output, ends = "", time.monotonic() + 180
    while time.monotonic() < ends and ("Deferred" not in output or output.count(text) < 2):
        if select.select([ours], [], [], 0.5)[0]:
            output += os.read(ours, 65_536).decode(errors="replace")
    process.send_signal(signal.SIGINT)
    process.wait(timeout=180)
    os.close(ours)
    return output


def test_names_that_do_not_exist_suggest_the_nearest(torpor: Terminal, ended: dict[str, str]) -> None:
    wrong = ended["good"][:-1]
    refused = torpor.run("get", wrong)
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "did you mean cli-" in refused.err
    assert torpor.run("frobnicate").code == 2


def test_version_names_torpor_and_the_cluster(torpor: Terminal) -> None:
    versions = json.loads(torpor.ok("version", "-o", "json"))
    assert versions["kubernetes"].startswith("v1.")
    assert versions["torpor"]


def test_completion_completes_names_from_the_cluster(torpor: Terminal, ended: dict[str, str]) -> None:
    script = torpor.ok("completion", "bash")
    assert "_TORPOR_COMPLETE" in script
    words = " ".join(["torpor", *torpor.command()[1:], "get", ended["good"][:6]])
    environment = {
        **os.environ,
        "_TORPOR_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    command = torpor.command()[:1]

    def is_completed() -> bool:
        completed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
        return f"plain,{ended['good']}\n" in completed.stdout

    # A completion offers no names if the API server does not answer within two seconds.
    torpor.until(is_completed, "the completion to have the name")

import subprocess
import sys

import pytest
from torpor_cli.__main__ import main

from tests.support.fake_cluster import FakeCluster, Run


def completed(words: str, monkeypatch: pytest.MonkeyPatch, number: int) -> list[str]:
    """What bash receives for these words, from a process of its own."""
    monkeypatch.setenv("_TORPOR_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(number))
    ended = subprocess.run(
        [sys.executable, "-m", "torpor_cli"], capture_output=True, text=True, timeout=180, check=False
    )
    assert ended.stderr == ""
    return [line.partition(",")[2] for line in ended.stdout.splitlines() if line]


def test_runs_tasks_and_references_come_from_the_cluster(
    cluster: FakeCluster, torpor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.workflow("ingest-x7", "load", "list")
    assert torpor("list")[0] == 0
    assert completed("torpor get ing", monkeypatch, 2) == ["ingest-x7"]
    assert completed("torpor get ingest-x7/lo", monkeypatch, 2) == ["ingest-x7/load"]
    assert completed("torpor retry ingest-x7 l", monkeypatch, 3) == ["load", "list"]


def test_namespaces_states_unfold_and_instances_complete(
    cluster: FakeCluster, torpor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.workflow("x", "load", "list")
    for number in (2, 10):
        cluster.taskrun("x", "load", number)
    assert torpor("list")[0] == 0
    assert completed("torpor list -n te", monkeypatch, 3) == ["team"]
    assert completed("torpor list --state Fai", monkeypatch, 3) == ["Failed"]
    assert completed("torpor list --state fai", monkeypatch, 3) == ["failed"]
    assert completed("torpor get x --unfold lo", monkeypatch, 4) == ["load"]
    assert completed("torpor logs x/load/", monkeypatch, 2) == ["x/load/2", "x/load/10"]


def test_commands_that_change_a_run_complete_those_that_have_not_ended(
    cluster: FakeCluster, torpor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.workflow("run-open", "a")
    cluster.workflow("run-over", "a", state="Failed", completionTime="2026-11-22T10:01:00Z")
    assert torpor("list")[0] == 0
    for command in ("cancel", "resume", "approve"):
        assert completed(f"torpor {command} ru", monkeypatch, 2) == ["run-open"]
    assert completed("torpor delete ru", monkeypatch, 2) == ["run-open", "run-over"]


def test_schedules_templates_and_backfills_complete(
    cluster: FakeCluster, torpor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.schedule("nightly")
    cluster.backfill("november", "nightly")
    cluster.backfill("october", "nightly", state="Succeeded", completionTime="2026-11-22T10:01:00Z")
    assert torpor("list")[0] == 0
    for command in ("next", "run", "pause", "resume", "history"):
        assert completed(f"torpor schedule {command} ni", monkeypatch, 3) == ["nightly"]
    assert completed("torpor schedule hi", monkeypatch, 2) == ["history"]
    cluster.template("ingest")
    assert completed("torpor submit --template i", monkeypatch, 3) == ["ingest"]
    cluster.put("clusterworkflowtemplates", {"metadata": {"name": "platform", "uid": "p"}})
    assert completed("torpor submit --cluster-template p", monkeypatch, 3) == ["platform"]
    assert completed("torpor list --schedule n", monkeypatch, 3) == ["nightly"]
    assert completed("torpor backfill create n", monkeypatch, 3) == ["nightly"]
    assert completed("torpor backfill status o", monkeypatch, 3) == ["october"]
    assert completed("torpor backfill cancel ", monkeypatch, 3) == ["november"]


def test_commands_complete_without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    assert completed("torpor res", monkeypatch, 1) == ["result", "resubmit", "resume"]


def test_a_failure_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    assert completed("torpor get ing", monkeypatch, 2) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(torpor: Run, shell: str) -> None:
    code, out, _ = torpor("completion", shell)
    assert code == 0
    assert "_TORPOR_COMPLETE" in out


def test_the_help_has_a_line_for_each_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "--help"]) == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "bash: source <(torpor completion bash)" in shown
    assert "zsh:  source <(torpor completion zsh)" in shown
    assert "fish: torpor completion fish | source" in shown
    assert not any("\\b" in line or "\b" in line for line in shown)

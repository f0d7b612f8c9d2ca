"""The fixture `torpor_run`, as a project uses it."""

import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

_ROOT = Path(__file__).resolve().parents[3]
_FILE = """
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {generateName: ingest-}
spec:
  image: python:3.12-slim
  params: {limit: 2}
  tasks:
  - name: drop
    trigger: {class: approval, kwargs: {question: Now?}}
  - name: load
    after: [drop]
    python: "ingest_tasks:load"
    expand: [{name: path, over: [a, b]}]
    args: {limit: "${params.limit}"}
  - name: total
    python: "ingest_tasks:total"
    args: {sizes: "${tasks.load.results}"}
"""
_TASKS = """
def load(path, limit):
    print("loading", path)
    if limit < 1:
        raise ValueError("no limit")
    return path * limit

def total(sizes):
    return "".join(sizes)
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.path.joinpath("ingest.yaml").write_text(_FILE)
    pytester.path.joinpath("ingest_tasks.py").write_text(_TASKS)
    return pytester


def outcomes(project: pytest.Pytester, text: str) -> dict[str, int]:
    """Run a test module in a process of its own."""
    project.makepyfile(text)
    # Without the entry point of this environment, which may be older than this file.
    completed = project.runpytest_subprocess("-p", "no:torpor", "-p", "torpor_cli.pytest_plugin", "-q", timeout=300)
    return completed.parseoutcomes()


def test_a_test_gets_results_history_failures_and_logs(project: pytest.Pytester) -> None:
    assert outcomes(
        project,
        """
        import asyncio

        def test_it_succeeds(torpor_run):
            done = torpor_run("ingest.yaml", params={"limit": 3}, events={"drop": {"approved": True}})
            assert done.succeeded, done.failures
            assert done.results["load"] == ["aaa", "bbb"]
            assert done.results["total"] == "aaabbb"
            assert done.states == {f"{one}": "Succeeded" for one in ("drop", "load/0", "load/1", "total")}
            entered = [one.state for one in done.history if one.task == "load/0"]
            assert entered == ["Scheduled", "Running", "Succeeded"]
            assert done.log("load/1") == "loading b\\n"

        def test_a_failure_raises_nothing(torpor_run):
            async def play():
                return torpor_run("ingest.yaml", params={"limit": 0}, events={"drop": {"approved": True}})
            done = asyncio.run(play())
            assert done.state == "Failed"
            assert sorted(done.failures) == ["load/0", "load/1"]
            assert "ValueError: no limit" in done.failures["load/0"]
            assert "Traceback" in done.log("load/0")
        """,
    ) == {"passed": 2}


def test_what_cannot_be_played_is_an_error(project: pytest.Pytester) -> None:
    project.path.joinpath("bad.yaml").write_text(_FILE.replace("after:", "afetr:"))
    assert outcomes(
        project,
        """
        import pytest
        from torpor_cli.errors import CliError

        def test_a_wait_without_an_event(torpor_run):
            with pytest.raises(CliError, match="waits for an approval; answer it with --answer drop=approved"):
                torpor_run("ingest.yaml")

        def test_a_wait_with_an_answer(torpor_run):
            assert torpor_run("ingest.yaml", answers={"drop": "rejected"}).results["drop"]["approved"] is False

        def test_an_unknown_task(torpor_run):
            with pytest.raises(CliError, match="there is no task 'dorp'; did you mean drop"):
                torpor_run("ingest.yaml", events={"dorp": 1})

        def test_an_unknown_param(torpor_run):
            with pytest.raises(CliError, match="there is no param 'limits'; did you mean limit"):
                torpor_run("ingest.yaml", params={"limits": 1})

        def test_findings(torpor_run):
            with pytest.raises(CliError, match="bad.yaml:12:5: error: unknown field"):
                torpor_run("bad.yaml")
        """,
    ) == {"passed": 5}


def test_the_plugin_imports_no_run_before_a_test_uses_it(project: pytest.Pytester) -> None:
    assert outcomes(
        project,
        """
        import sys

        def test_imports():
            assert not {"torpor_local", "torpor_operator", "pydantic", "yaml"} & set(sys.modules)
        """,
    ) == {"passed": 1}


def test_both_distributions_have_the_entry_point() -> None:
    for folder in ("cli", "cli/packaging"):
        project = tomllib.loads((_ROOT / folder / "pyproject.toml").read_text())["project"]
        assert project["entry-points"]["pytest11"] == {"torpor": "torpor_cli.pytest_plugin"}

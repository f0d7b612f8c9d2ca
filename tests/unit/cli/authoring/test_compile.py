"""`torpor compile` and `torpor submit` with the Workflow of a function."""

import json
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_cli.__main__ import main
from torpor_cli.authoring import compiled

from tests.support.fake_cluster import FakeCluster, Run, fake_cluster

_EXAMPLE = Path(__file__).parents[4] / "examples" / "authoring"
_FLOWS = """
import os, sys
from torpor import task
from torpor.authoring import expression, wait, workflow

print("imported")
os.write(2, b"from C\\n")

@task
def load(path: str) -> int: return 1

@workflow(image="x:1")
def ingest(day: str, limit: int = 3, regions: list[str] = ["north"], more=None):
    load(day)

@workflow(image="x:1")
def wrong():
    load.options(timeout="soon")("x")
    load.options(name="other", when="tasks.lod.result")("y")

@workflow(image="x:1")
def warned():
    wait("own.triggers:Drop")

@workflow
def broken(day: str):
    load(f"in/{day}")

@workflow
def raising():
    open("/nonexistent")

@workflow
def ended():
    os._exit(3)

other = 3
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def torpor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in a folder with the module `flows`: exit code, standard output, standard error."""
    (tmp_path / "flows.py").write_text(_FLOWS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(list(arguments))
        out, err = capfd.readouterr()
        return code, out, err.replace("imported\n", "").replace("from C\n", "")

    return run


def compiled_as(torpor: Command, *arguments: str) -> Any:
    code, out, err = torpor("compile", *arguments)
    assert (code, err) == (0, "")
    return yaml.safe_load(out)


def test_the_example_is_compiled_in_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "torpor_cli", "compile", "ingest.flows:sales"]
    ended = subprocess.run(command, cwd=_EXAMPLE, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ((_EXAMPLE / "workflow.yaml").read_text(), "")


def test_params_have_the_types_of_the_annotations(torpor: Command) -> None:
    options = ("-p", "day=20261120", "-p", "limit=4", "-p", 'regions=["a"]', "-p", "more=[1]")
    params = compiled_as(torpor, "flows:ingest", *options)["spec"]["params"]
    assert params == {"day": "20261120", "limit": 4, "regions": ["a"], "more": [1]}
    assert compiled_as(torpor, "flows:ingest", "-p", "day=x", "-p", "more=x")["spec"]["params"]["more"] == "x"


def test_params_of_a_file_count_where_the_command_line_has_none(torpor: Command) -> None:
    Path("values.yaml").write_text("{day: '2026-11-20', limit: 5}")
    params = compiled_as(torpor, "flows:ingest", "--params-file", "values.yaml", "-p", "limit=6")["spec"]["params"]
    assert (params["day"], params["limit"]) == ("2026-11-20", 6)


def test_json_is_printed_as_well(torpor: Command) -> None:
    _, out, _ = torpor("compile", "flows:ingest", "-p", "day=x", "-o", "json")
    assert json.loads(out)["metadata"] == {"generateName": "ingest-"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["flows:ingest"], "param day is missing: flows:ingest requires it; add -p day=..."),
        (["flows:ingest", "-p", "dy=x"], "there is no param 'dy'; did you mean day?"),
        (["flows:ingest", "-p", "x=x"], "there is no param 'x'; flows:ingest has day, limit, regions, more"),
        (["flows:ingest", "-p", "limit=x"], "-p limit=x: the value must be an integer, as JSON"),
        (["flows:ingest", "-p", "day=x", "-p", "limit=1.5"], "param limit must be an integer, not 1.5"),
        (["flows:ingest", "-p", "day"], "-p 'day' has no value; write -p NAME=VALUE"),
        (["flows.py"], "'flows.py' is not a workflow function; write package.module:name, such as ingest.flows:ingest"),
        (["flows:ingest", "--python", "/none"], "--python /none: there is no such program"),
    ],
)
def test_wrong_usage_has_exit_code_2(torpor: Command, arguments: list[str], sentence: str) -> None:
    assert torpor("compile", *arguments) == (2, "", f"torpor: {sentence}\n")


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (
            "flows:ingst",
            "flows has no @workflow function 'ingst'; it has ingest, wrong, warned, broken, raising, ended",
        ),
        ("flows:other", "flows has no @workflow function 'other'; it has ingest, wrong,"),
        ("flows:broken", "{folder}/flows.py:27: <reference params.day> has no value until the run comes to it"),
        ("flows:raising", "{folder}/flows.py:31: FileNotFoundError: [Errno 2] No such file or directory"),
        ("flows:ended", f"{sys.executable} ended with code 3 and built no Workflow"),
        ("nowhere:x", "ModuleNotFoundError: No module named 'nowhere'; the interpreter is {python}, and --python choo"),
    ],
)
def test_what_cannot_be_built_has_exit_code_1_and_the_line(
    torpor: Command, tmp_path: Path, reference: str, sentence: str
) -> None:
    code, out, err = torpor("compile", reference)
    assert (code, out) == (1, "")
    assert err.startswith(f"torpor: {reference}: {sentence.format(folder=tmp_path, python=sys.executable)}")


def test_a_workflow_that_the_cluster_would_reject_is_not_printed(torpor: Command) -> None:
    code, out, err = torpor("compile", "flows:wrong")
    assert (code, out) == (1, "")
    assert err.startswith("flows:wrong: error: task load.timeout: ")
    assert "flows:wrong: error: task other.when: " in err


def test_a_warning_is_printed_beside_the_workflow(torpor: Command) -> None:
    code, out, err = torpor("compile", "flows:warned")
    assert code == 0
    assert yaml.safe_load(out)["spec"]["tasks"][0]["name"] == "drop"
    assert err.startswith("flows:warned: warning: task drop.trigger.class: no built-in trigger class is called own")


def test_an_interpreter_without_the_sdk_gets_that_of_torpor_and_nothing_else(torpor: Command, tmp_path: Path) -> None:
    venv.create(tmp_path / "own", with_pip=False)
    python = str(tmp_path / "own/bin/python")
    assert compiled_as(torpor, "flows:ingest", "-p", "day=x", "--python", python)["kind"] == "Workflow"
    (tmp_path / "more.py").write_text("import click")
    code, _, err = torpor("compile", "more:x", "--python", python)
    assert code == 1
    assert f"more.py:1: ModuleNotFoundError: No module named 'click'; the interpreter is {python}" in err


def interpreter_that(tmp_path: Path, statement: str) -> str:
    """An interpreter that runs a statement first."""
    script = tmp_path / "python"
    change = f"import sys; {statement}; text = sys.argv[2]; del sys.argv[1:3]; exec(text)"
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{change}' \"$@\"\n")
    script.chmod(0o755)
    return str(script)


def test_an_old_interpreter_is_refused_with_its_version(torpor: Command, tmp_path: Path) -> None:
    python = interpreter_that(tmp_path, "sys.version_info = (3, 8, 1)")
    expected = f"torpor: {python} is Python 3.8; tasks need 3.11 or later: add --python\n"
    assert torpor("compile", "flows:ingest", "--python", python) == (2, "", expected)


def test_a_package_torpor_without_workflows_is_refused(torpor: Command, tmp_path: Path) -> None:
    python = interpreter_that(tmp_path, 'sys.modules["torpor.authoring"] = None')
    _, _, err = torpor("compile", "flows:ingest", "--python", python)
    assert err.startswith("torpor: flows:ingest: the package torpor of this interpreter is too old: ")


def test_the_path_of_a_file_is_no_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert compiled.is_reference("flows:ingest")
    assert not any(map(compiled.is_reference, ["flows.yaml", "-", "./flows:ingest", "a:b:c"]))
    (tmp_path / "flows:ingest").write_text("")
    assert not compiled.is_reference("flows:ingest")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with fake_cluster() as fake:
        monkeypatch.setenv("KUBECONFIG", str(fake.kubeconfig(tmp_path)))
        monkeypatch.setenv("NO_PROXY", "*")
        yield fake


def test_submit_takes_a_function(cluster: FakeCluster, torpor: Run) -> None:
    code, out, _ = torpor("submit", "flows:ingest", "-p", "day=2026-11-20", "-p", "limit=4")
    assert code == 0
    workflow = cluster.objects["workflows"][out.strip()]
    assert workflow["spec"]["params"] == {"day": "2026-11-20", "limit": 4, "regions": ["north"], "more": None}
    assert [task["python"] for task in workflow["spec"]["tasks"]] == ["flows:load"]

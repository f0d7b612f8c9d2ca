"""The wheel and the one file of the command."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[3]
_EXAMPLE = _ROOT / "examples" / "census.yaml"
_UV = _ROOT / ".tools" / "bin" / "uv"

_IMPORT_ALL = """
import pkgutil, importlib, torpor_cli
for module in pkgutil.walk_packages(torpor_cli.__path__, "torpor_cli."):
    if module.name != "torpor_cli.pytest_plugin":  # pytest is there only where it is used
        importlib.import_module(module.name)
"""


def project(folder: str) -> dict[str, Any]:
    return tomllib.loads((_ROOT / folder / "pyproject.toml").read_text())


def names(requirements: list[str]) -> set[str]:
    """The names of packages, without versions and extras."""
    return {re.split(r"[<>=\[]", requirement)[0] for requirement in requirements}


def run(*words: str | Path, **environment: str) -> str:
    ended = subprocess.run(
        list(map(str, words)), cwd=_ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_distribution_has_the_metadata_of_the_workspace_member() -> None:
    ours, shipped = project("cli")["project"], project("cli/packaging")["project"]
    for key in ("name", "version", "description", "requires-python", "license", "scripts"):
        assert shipped[key] == ours[key]


def test_the_distribution_depends_on_all_packages_but_those_of_torpor() -> None:
    ours, shipped = (set(project(folder)["project"]["dependencies"]) for folder in ("cli", "cli/packaging"))
    assert {package for package in shipped if package.startswith("torpor")} == set()
    assert {our for our in ours if not our.startswith("torpor")} <= shipped


def test_the_extra_run_has_what_the_packages_of_a_local_run_need() -> None:
    shipped = project("cli/packaging")["project"]
    has = names(shipped["dependencies"]) | names(shipped["optional-dependencies"]["run"])
    # only the process of the operator imports these
    unused = {"kopf", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"}
    for folder in (
        "local",
        "archive",
        "operator",
        "triggerer",
        "crds",
        "libraries/kubernetes",
        "libraries/expressions",
    ):
        needed = names(project(folder)["project"]["dependencies"])
        assert {package for package in needed if not package.startswith("torpor")} - unused - has == set(), folder
    of_triggers = project("worker-image")["project"]["optional-dependencies"]
    assert {name for extra in of_triggers.values() for name in names(extra)} <= has


def test_everything_that_the_distribution_includes_exists() -> None:
    included = project("cli/packaging")["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert [path for path in included if not (_ROOT / "cli" / "packaging" / path).exists()] == []


@pytest.mark.long
def test_the_wheel_and_the_one_file_run_without_the_checkout(tmp_path: Path) -> None:
    dist, environment = tmp_path / "dist", {"SHIV_ROOT": str(tmp_path / "shiv"), "PYTHONPATH": ""}
    run("make", "--silent", "cli", f"DIST={dist}")
    (wheel,) = dist.glob("*.whl")
    run(_UV, "tool", "install", wheel, UV_TOOL_DIR=str(tmp_path / "tools"), UV_TOOL_BIN_DIR=str(tmp_path / "bin"))
    run(tmp_path / "tools" / "kubectl-torpor" / "bin" / "python", "-c", _IMPORT_ALL, **environment)
    for command in (tmp_path / "bin" / "torpor", tmp_path / "bin" / "kubectl-torpor", dist / "torpor"):
        assert "Check files of Workflows and Schedules without a cluster." in run(command, "--help", **environment)
        document = json.loads(run(command, "lint", "-o", "json", _EXAMPLE, **environment))
        assert (document["workflows"], document["findings"]) == (1, [])
    ended = subprocess.run([tmp_path / "bin" / "torpor", "run", _EXAMPLE], capture_output=True, text=True, check=False)
    assert (ended.returncode, "install it with `uv tool install 'kubectl-torpor[run]'`" in ended.stderr) == (1, True)
    run(
        _UV,
        "tool",
        "install",
        "--reinstall",
        f"{wheel}[run]",
        UV_TOOL_DIR=f"{tmp_path}/tools",
        UV_TOOL_BIN_DIR=f"{tmp_path}/bin",
    )
    folder = tmp_path / "census"
    printed = run(
        tmp_path / "bin" / "torpor",
        "run",
        _EXAMPLE,
        "-p",
        "pause=10ms",
        "--folder",
        folder,
        "-o",
        "json",
        PYTHONPATH=str(_ROOT / "examples" / "census"),
    )
    assert json.loads(printed)["state"] == "Succeeded"

"""The commands of the course for people who come from Airflow, on a cluster, with the output of its page."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from torpor_demo.cluster import ROOT

from tests.e2e.airflow.conftest import TASKS, AirflowStage

pytestmark = pytest.mark.long
_BRIDGE = ROOT / "airflow-bridge"
_PAGE = ROOT / "docs/coming-from/airflow-course.md"
_COMMANDS = ROOT / ".tools/airflow/bin"
_SECONDS = 1_500.0


def console_page() -> Any:
    """The module that the bridge's own test of the page uses, too."""
    path = _BRIDGE / "tests/course/console_page.py"
    specification = importlib.util.spec_from_file_location("console_page", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["console_page"] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.skipif(not (_COMMANDS / "torpor-from-airflow").exists(), reason="make airflow-venv installs the command")
def test_each_command_on_a_cluster_prints_what_the_page_says(airflow: AirflowStage, tmp_path: Path) -> None:
    page, namespace = console_page(), airflow.stage.namespace
    shutil.copytree(_BRIDGE / "course", tmp_path / "course")
    site = tmp_path / "course/site.yaml"
    site.write_text(site.read_text().replace("airflow-tasks:dev", TASKS.name))
    report = tmp_path / "course/dags/report.py"
    report.write_text(report.read_text().replace("depends_on_past=True", ""))
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(airflow.kubectl.run("config", "view", "--flatten", "--raw"))
    wanted = [
        page.ConsoleCommand(
            text=each.text.replace("torpor-demo:", f"{namespace}:").replace("airflow-tasks:dev", TASKS.name),
            output=each.output,
        )
        for each in page.commands(page.sections(_PAGE)["On a cluster"])
    ]
    first = page.ConsoleCommand(text=f"kubectl config set-context --current --namespace={namespace}", output="…")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "_AIRFLOW"))}
    folders = (_COMMANDS, ROOT / ".venv/bin", Path(airflow.kubectl.program).parent)
    path = ":".join([*map(str, folders), os.environ["PATH"]])
    environment = {**kept, "PATH": path, "KUBECONFIG": str(kubeconfig)}
    commands = [first, *wanted]
    printed = page.play(commands, tmp_path / "course", environment, _SECONDS)
    for each, text in zip(commands, printed, strict=True):
        assert each.matches(text), f"{each.text} printed:\n{text}"

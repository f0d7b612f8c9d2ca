"""examples/platform-templates: a product team's run uses the templates of a platform group."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_cli.__main__ import main
from torpor_kubernetes.client.resources import CLUSTER_TEMPLATES, WORKFLOWS
from torpor_wire import constants

from tests.e2e.examples import translation
from tests.e2e.examples.test_cluster_translations import PLAIN
from tests.e2e.support.stage import ClusterFixture

_FOLDER = "platform-templates"
_TABLES = ["orders", "items", "refunds"]


def files(image: str) -> str:
    """The template and the Workflow, as one text."""
    return "".join(translation.manifest(f"{_FOLDER}/{name}.yaml", image) for name in ("platform", "orders"))


def result(rows: int) -> dict[str, Any]:
    """The result of a run that loads so many rows of each table."""
    tables = [{"table": table, "rows": rows, "check": f"{table} is complete"} for table in _TABLES]
    return {"tables": tables, "check": "orders is complete"}


def test_the_example_runs_without_a_cluster(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(files(image))
    code = main(["run", "run.yaml", "-p", "rows=7", "-o", "json", "--folder", "run"])
    out, err = capfd.readouterr()
    assert code == 0, err
    results = json.loads(out)["results"]
    assert {"tables": results["publish"], "check": results["check"]} == result(7)


@pytest.mark.long
async def test_a_team_uses_the_templates_of_the_platform_group(stage: ClusterFixture) -> None:
    template, orders = yaml.safe_load_all(files(PLAIN))
    name = f"{stage.namespace}-platform"
    template["metadata"]["name"], template["spec"]["allowedNamespaces"] = name, {"names": [stage.namespace]}
    publish, _, check = orders["spec"]["tasks"]
    publish["run"]["templateRef"]["name"] = check["use"]["clusterTemplate"] = name
    await stage.api.create(CLUSTER_TEMPLATES, None, template)
    try:
        await stage.start("orders", {**orders["spec"], "params": {"rows": 7}})
        ended = await stage.ended("orders")
    finally:
        await stage.api.delete(CLUSTER_TEMPLATES, None, name)
    assert ended.status.state == "Succeeded", ended.status.conditions
    assert json.loads(ended.status.result or "") == result(7)
    children = await stage.api.list(WORKFLOWS, stage.namespace, label_selector=f"{constants.LABEL_PARENT}=orders")
    assert {child["status"]["state"] for child in children.items} == {"Succeeded"}
    assert len(children.items) == len(_TABLES)

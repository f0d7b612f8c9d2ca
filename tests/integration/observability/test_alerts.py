"""Each alert of manifests/components/monitoring fires once, evaluated by promtool."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from torpor_dev.offline import golang
from torpor_operator.settings import Settings

from tests.support.builders import python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault, settle

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not golang.built(golang.PROMTOOL), reason="promtool is not built: make tools"),
]

_RULES = Path(__file__).resolve().parents[3] / "manifests/components/monitoring/rules.yaml"
_TESTS = Path(__file__).parent / "alerts.yaml"
_MINUTES = 20


def alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(_RULES.read_text())["spec"]["groups"]
    return list(group["rules"])


def check(folder: Path, tests: list[dict[str, Any]]) -> str:
    """Run promtool with the rules; return its output. Raises CalledProcessError with it."""
    (folder / "rules.yaml").write_text(yaml.safe_dump(yaml.safe_load(_RULES.read_text())["spec"]))
    body = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (folder / "tests.yaml").write_text(yaml.safe_dump(body))
    promtool = golang.build(golang.PROMTOOL)
    done = subprocess.run(
        [promtool, "test", "rules", folder / "tests.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_alert_fires_at_its_fault_and_no_other_one_does(tmp_path: Path) -> None:
    tests = yaml.safe_load(_TESTS.read_text())["tests"]
    names = [rule["alert"] for rule in alerts()]
    assert [test["name"] for test in tests] == names
    for test in tests:
        others = [name for name in names if name != test["name"]]
        test["alert_rule_test"] += [
            {"eval_time": f"{_MINUTES}m", "alertname": name, "exp_alerts": []} for name in others
        ]
    assert "SUCCESS" in check(tmp_path, tests)


async def test_an_alert_fires_on_the_metrics_of_an_operator_with_a_fault(tmp_path: Path) -> None:
    harness = ControllerHarness(Settings())
    harness.fake.inject(Fault(status=403, message="denied by a webhook", method="POST", path="/taskruns", times=10_000))
    samples: dict[str, list[float | None]] = {}
    async with harness.running():
        harness.create("run", python("first"))
        for minute in range(_MINUTES + 1):
            for series, value in scrape(harness.context.metrics.text().decode()).items():
                samples.setdefault(series, [None] * minute).append(value)
            await harness.clock.advance(60)
            await settle()
    input_series = [
        {"series": name, "values": " ".join("_" if value is None else f"{value:g}" for value in values)}
        for name, values in samples.items()
    ]
    summary = "More than a tenth of the passes of kind Workflow fail."
    fired = {
        "exp_labels": {"severity": "warning", "kind": "Workflow"},
        "exp_annotations": {"summary": summary, "runbook": "docs/operations/alerts.md#torporreconcileerrors"},
    }
    expected = {"eval_time": f"{_MINUTES}m", "alertname": "TorporReconcileErrors", "exp_alerts": [fired]}
    check(tmp_path, [{"interval": "1m", "input_series": input_series, "alert_rule_test": [expected]}])


def scrape(text: str) -> dict[str, float]:
    """The samples by series, as promtool writes them."""
    return {
        sample.name + "{" + ",".join(f'{name}="{value}"' for name, value in sample.labels.items()) + "}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }

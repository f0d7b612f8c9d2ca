"""What is made for Prometheus, Grafana and the autoscaler asks for metrics that the triggerer has."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_archive.metrics import ArchiveMetrics
from torpor_expressions.evaluator import InProcess
from torpor_kubernetes.timing import SystemClock
from torpor_operator.observability.custom_metrics import CustomMetrics
from torpor_operator.observability.operator_metrics import OperatorMetrics, OperatorState
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.observability.workload_metrics import WorkloadMetrics
from torpor_triggerer.reporting.metrics import ReplicaState, TriggererMetrics

_COMPONENTS = Path(__file__).resolve().parents[3] / "manifests/components"
_BASE = _COMPONENTS.parent / "base"
_NAME = re.compile(r"\btorpor_\w+")
Documents = list[dict[str, Any]]


def known() -> set[str]:
    """Every name that a query can have."""
    metrics = TriggererMetrics("default", ["http"])
    metrics.add_gauges(ReplicaState)
    metrics.add_process_metrics()
    of_operator, of_archive = OperatorMetrics(), ArchiveMetrics()
    of_operator.add_state(OperatorState)
    of_operator.add_process_metrics()
    WorkloadMetrics(of_operator.registry, now=float, is_leader=bool, find_workflow=lambda _: None)
    SpanExporter(send_nothing, SystemClock(), of_operator.registry)
    CustomMetrics(InProcess(), of_operator.registry, report_nothing)
    suffixes = {"gauge": [""], "counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
    return {
        family.name + suffix
        for registry in (metrics._registry, of_operator.registry, of_archive._registry)
        for family in registry.collect()
        for suffix in suffixes[family.type]
    }


async def send_nothing(_spans: object) -> bool:
    return True


async def report_nothing(_workflow: object, _message: str) -> None:
    pass


def boards() -> Iterator[str]:
    for path in sorted((_COMPONENTS / "monitoring").glob("*.json")):
        board = json.loads(path.read_text())
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield variable["query"]["query"]
        for panel in board["panels"]:
            yield from (target["expr"] for target in panel["targets"])


def queries() -> Iterator[str]:
    yield from boards()
    yield from (rule["expr"] for rule in alert_rules() if rule["alert"] != "TorporTargetDown")
    for rule in adapter_rules():
        yield from (rule["seriesQuery"], rule["metricsQuery"])


def alert_rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((_COMPONENTS / "monitoring/rules.yaml").read_text())["spec"]["groups"]
    return list(group["rules"])


def adapter_rules() -> list[dict[str, Any]]:
    values = yaml.safe_load((_COMPONENTS / "autoscaling/prometheus-adapter.yaml").read_text())
    return list(values["rules"]["custom"])


@pytest.mark.parametrize("query", sorted(set(queries())))
def test_a_query_asks_for_nothing_that_there_is_not(query: str) -> None:
    names = set(_NAME.findall(query))
    assert names
    assert names <= known()


def test_all_that_is_ours_can_be_seen_on_the_dashboard() -> None:
    shown = {name for query in boards() for name in _NAME.findall(query)}
    elsewhere = ("torpor_process_", "torpor_operator_process_", "torpor_archive_")
    hidden = {name for name in known() - shown if not name.startswith(elsewhere)}
    assert {name for name in hidden if not name.endswith(("_sum", "_count"))} == {"torpor_watches"}


def test_each_alert_has_a_runbook_with_a_command() -> None:
    page = (_COMPONENTS.parents[1] / "docs/operations/alerts.md").read_text()
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert sections.keys() == {rule["alert"] for rule in alert_rules()}
    for rule in alert_rules():
        assert rule["annotations"]["runbook"] == f"docs/operations/alerts.md#{rule['alert'].lower()}"
        assert "```sh\n" in sections[rule["alert"]], rule["alert"]


@pytest.fixture
def built(tmp_path: Path) -> Documents:
    """The base with both components, as a person would add them."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl builds it")
    components = [os.path.relpath(_COMPONENTS / name, tmp_path) for name in ("monitoring", "autoscaling")]
    document = {"resources": [os.path.relpath(_BASE, tmp_path)], "components": components}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(document))
    done = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def find_object(documents: Documents, kind: str, name: str) -> dict[str, Any]:
    return next(each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name))


def test_the_autoscaler_uses_the_adapters_metric_and_alone_sets_replicas(built: Documents) -> None:
    spec = find_object(built, "HorizontalPodAutoscaler", "torpor-triggerer")["spec"]
    assert [each["pods"]["metric"]["name"] for each in spec["metrics"]] == [
        rule["name"]["as"] for rule in adapter_rules()
    ]
    deployment = find_object(built, spec["scaleTargetRef"]["kind"], spec["scaleTargetRef"]["name"])
    assert "replicas" not in deployment["spec"]
    assert spec["minReplicas"] >= 2


def test_what_is_scraped_is_a_port_that_the_pods_of_every_pool_have(built: Documents) -> None:
    spec = find_object(built, "PodMonitor", "torpor-triggerers")["spec"]
    (endpoint,) = spec["podMetricsEndpoints"]
    template = find_object(built, "Deployment", "torpor-triggerer")["spec"]["template"]
    (port,) = template["spec"]["containers"][0]["ports"]
    assert (port["name"], str(port["containerPort"])) == (
        endpoint["port"],
        template["metadata"]["annotations"]["prometheus.io/port"],
    )
    assert spec["selector"]["matchExpressions"] == [{"key": "torpor.dev/trigger-pool", "operator": "Exists"}]
    assert "torpor.dev/trigger-pool" in template["metadata"]["labels"]


def test_the_kubelet_restarts_a_hung_triggerer_and_waits_for_membership(
    built: Documents,
) -> None:
    (container,) = find_object(built, "Deployment", "torpor-triggerer")["spec"]["template"]["spec"]["containers"]
    paths = {name: container[name]["httpGet"]["path"] for name in ("livenessProbe", "readinessProbe", "startupProbe")}
    assert paths == {"livenessProbe": "/livez", "readinessProbe": "/healthz", "startupProbe": "/healthz"}

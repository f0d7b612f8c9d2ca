"""`manifestFrom` of an object task: fields from a ConfigMap, which are data."""

import json
from typing import Any

import pytest
from torpor_operator.mapping import manifest_source
from torpor_operator.model import stored_objects

from tests.support.builders import Body
from tests.support.plan_fixture import PlanFixture

_MANIFEST: Body = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": "${params.width}"}}
_STORED = """
apiVersion: batch/v1
kind: Job
metadata: {generateName: train-, labels: {team: data}}
spec:
  parallelism: 1
  completions: 2
  template: {spec: {containers: [{name: main, image: "busybox", args: ["${params.width}", 2026-11-26]}]}}
"""


def _cluster(text: str | None, manifest: Body | None = None, key: str = "job.yaml", **fields: Any) -> PlanFixture:
    source = {"configMapKeyRef": {"name": "jobs", "key": key}}
    task = {"name": "act", "object": {"manifest": manifest or _MANIFEST, "manifestFrom": source}, **fields}
    cluster = PlanFixture(task, params={"width": 3})
    cluster.api.variables = {"jobs": {} if text is None else {"job.yaml": text}}
    return cluster.settle()


def _sent(cluster: PlanFixture, index: int = -1) -> Body:
    sent: Body = json.loads(cluster.taskruns[cluster.name("act", index)]["spec"]["object"]["manifest"])
    return sent


def test_fields_of_the_manifest_win_over_those_of_the_configmap() -> None:
    sent = _sent(_cluster(_STORED))
    assert sent["metadata"] == {"generateName": "train-", "labels": {"team": "data"}}
    assert (sent["spec"]["parallelism"], sent["spec"]["completions"]) == (3, 2)


def test_each_instance_of_a_mapped_task_gets_the_fields() -> None:
    manifest = _MANIFEST | {"spec": {"parallelism": "${mapping.value}"}}
    cluster = _cluster(_STORED, manifest, expand=[{"name": "width", "over": [4, 5]}])
    assert [_sent(cluster, index)["spec"]["parallelism"] for index in (0, 1)] == [4, 5]


def test_a_null_removes_a_field_of_the_configmap() -> None:
    assert "labels" not in _sent(_cluster(_STORED, _MANIFEST | {"metadata": {"labels": None}}))["metadata"]


@pytest.mark.attack
def test_expressions_and_dates_of_the_configmap_stay_texts() -> None:
    container = _sent(_cluster(_STORED))["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == ["${params.width}", "2026-11-26"]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "job.yaml of ConfigMap jobs: the ConfigMap has no such key"),
        ('{"kind": "Secret"}', 'kind is "Secret", and object.manifest has "Job"'),
        ("apiVersion: v1", 'apiVersion is "v1", and object.manifest has "batch/v1"'),
        ("metadata: {namespace: kube-system}", "remove metadata.namespace"),
        ("metadata: {finalizers: [a.b/c]}", "remove metadata.finalizers"),
        ("- a", "it is not an object"),
        ("a: [", "it cannot be read: "),
        ("a: !!python/object:os.system {}", "it cannot be read: "),
        ("a: !!binary aGk=", "it cannot be read: "),
        ("a: .nan", "it cannot be read: "),
        ("a: &b [x]\nc: [*b, *b]", "it has anchors"),
        ("a: 1\n---\nb: 2", "it has several documents"),
        ("a: " + "[" * 8_000, "it is nested more than 30 levels deep"),
        ("a: " + "x" * 17_000, "it has more than 16,384 bytes"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_configmap_that_is_no_manifest_fails_the_task(text: str | None, message: str) -> None:
    cluster = _cluster(text)
    assert cluster.task("act").state == "Failed"
    assert message in (cluster.task("act").message or "")


@pytest.mark.attack
def test_a_large_entry_is_cut_before_it_is_kept() -> None:
    stored = {"data": {"job.yaml": "x" * 1_000_000, "other": "y" * 1_000_000}}
    kept = stored_objects.config_map_data(stored, "job.yaml")
    assert list(kept) == ["job.yaml"]
    assert manifest_source.parse(kept["job.yaml"]) == "it has more than 16,384 bytes"

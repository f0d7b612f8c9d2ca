"""What `torpor doctor` says about NetworkPolicies."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_cli.diagnosis import cluster_checks
from torpor_cli.diagnosis.facts import Status, UnreadableFact

from tests.unit.cli.diagnosis.healthy import HEALTHY


def named(*names: str) -> list[dict[str, Any]]:
    return [{"metadata": {"name": name}} for name in names]


@pytest.mark.parametrize(
    ("plugins", "status", "message"),
    [
        (["kube-proxy", "calico-node"], Status.OK, "calico-node enforces NetworkPolicies"),
        (["kube-flannel-ds"], Status.WARNING, "kube-flannel-ds does not enforce NetworkPolicies"),
        (["kube-flannel-ds", "kube-network-policies"], Status.OK, "kube-network-policies enforces NetworkPolicies"),
        (["kube-proxy"], Status.WARNING, "cannot tell whether the cluster enforces NetworkPolicies"),
    ],
)
def test_a_known_plugin_decides_whether_policies_are_enforced(
    plugins: Sequence[str], status: Status, message: str
) -> None:
    checks = cluster_checks.network(replace(HEALTHY, daemon_sets=named(*plugins)))
    assert checks.status is status
    assert checks.message.startswith(message)
    assert bool(checks.action) == (status is not Status.OK)


def test_a_missing_policy_is_reported() -> None:
    checks = cluster_checks.network(replace(HEALTHY, network_policies=named("torpor", "torpor-archive")))
    assert (checks.status, checks.message) == (Status.WARNING, "NetworkPolicies are missing: torpor-metrics")


@pytest.mark.parametrize("field", ["network_policies", "daemon_sets"])
def test_without_the_right_to_read_them_it_is_unknown(field: str) -> None:
    denied: dict[str, Any] = {field: UnreadableFact(right="list things")}
    checks = cluster_checks.network(replace(HEALTHY, **denied))
    assert (checks.status, checks.message) == (Status.UNKNOWN, "you may not list things")


def test_the_policies_are_those_of_the_manifest() -> None:
    folder = Path(__file__).parents[4] / "manifests/base"
    documents = yaml.safe_load_all((folder / "network-policies.yaml").read_text())
    assert sorted(document["metadata"]["name"] for document in documents) == sorted(cluster_checks.NETWORK_POLICIES)

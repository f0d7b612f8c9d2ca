"""The inbox, the triggerers and the cluster."""

import json
from typing import Any

import pytest
from torpor_kubernetes.client.resources import CONFIG_MAPS, LEASES, TASKRUNS, WORKFLOWS
from torpor_ui.presentation import cluster_page, triggerer_page
from torpor_ui.presentation.cluster_page import ClusterReads, ClusterStatistics
from torpor_ui.routes import overview_routes
from torpor_views.occupancy import PhaseInterval
from torpor_wire import constants, times

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.users import User
from tests.support.page_server.browser import Browser, endpoint, opened_page

Object = dict[str, Any]


def taskrun(cluster: MadeUpApi, name: str, state: str, namespace: str = "data", **parts: Any) -> Object:
    spec = {"workflow": {"name": "etl", "uid": "w1"}, "task": name, **parts.pop("spec", {})}
    status = {"state": state, "attempt": 1, "segment": 0, "launch": 0, **parts}
    body = {"metadata": {"namespace": namespace, "name": f"etl-{name}"}, "spec": spec, "status": status}
    return cluster.server.put(TASKRUNS, body)


def approval(cluster: MadeUpApi, name: str, namespace: str = "data", **approvers: Any) -> None:
    kwargs = json.dumps({"question": f"Deploy {name}?"})
    trigger: Object = {"class": "approval", "kwargs": kwargs, "waitsFor": "answer with: kubectl ..."}
    trigger |= {"approvers": approvers} if approvers else {}
    taskrun(cluster, name, "Deferred", namespace, trigger=trigger, deferredAt=times.rfc3339(cluster.clock.now() - 60))


async def test_the_inbox_says_who_may_answer(cluster: MadeUpApi, page: Browser) -> None:
    approval(cluster, "a")
    approval(cluster, "b", users=["ada"])
    approval(cluster, "c", groups=["system:authenticated"])
    taskrun(cluster, "d", "Deferred", trigger={"class": "http", "kwargs": "{}"})
    shown = await page.get("api/approvals?ns=data")
    assert [(each["task"], each["question"], each["mayAnswer"]) for each in shown] == [
        ("a", "Deploy a?", True),
        ("b", "Deploy b?", False),
        ("c", "Deploy c?", True),
    ]
    assert shown[1]["reason"] == "only ada may answer; you are admin"
    assert shown[0]["run"] == "live/data/etl"


FIELDS = [{"name": "count", "type": "integer", "description": "How many", "min": 1, "default": 2}, {"name": "why"}]


async def test_the_inbox_has_subject_form_and_the_answer_that_did_not_fit(cluster: MadeUpApi, page: Browser) -> None:
    kwargs = {"subject": "Deploy", "question": "Green.", "fields": FIELDS, "options": ["a", "b"], "multiple": True}
    waits = "approval Deploy"
    trigger = {"class": "approval", "kwargs": json.dumps(kwargs), "waitsFor": waits}
    look = "the answer of ann does not fit: why is missing"
    message = f"Waiting for {waits}: {look}; answer with: kubectl annotate, seen at 2026-11-26T09:00:00Z"
    taskrun(cluster, "a", "Deferred", trigger=trigger, message=message)
    [shown] = await page.get("api/approvals?ns=data")
    assert (shown["subject"], shown["question"], shown["lastAnswer"]) == ("Deploy", "Green.", look)
    assert (shown["form"]["options"], shown["form"]["multiple"]) == (["a", "b"], True)
    first, second = shown["form"]["fields"]
    known = {"name": "count", "type": "integer", "description": "How many", "min": 1, "default": 2}
    assert first == known | {"required": False, "enum": [], "pattern": None}
    assert (second["name"], second["required"]) == ("why", True)


@pytest.mark.attack
@pytest.mark.parametrize("kwargs", ["{", "[]", '{"fields": 7}', '{"fields": [{"name": "x", "type": "matrix"}]}', "7"])
async def test_a_form_that_cannot_be_read_is_none(cluster: MadeUpApi, page: Browser, kwargs: str) -> None:
    taskrun(cluster, "a", "Deferred", trigger={"class": "approval", "kwargs": kwargs, "waitsFor": "approval x"})
    [shown] = await page.get("api/approvals?ns=data")
    assert (shown["form"], shown["question"], shown["lastAnswer"]) == (None, "approval x", "")


@pytest.mark.attack
async def test_the_inbox_has_only_namespaces_of_the_caller(cluster: MadeUpApi, page: Browser) -> None:
    approval(cluster, "a")
    approval(cluster, "m", "ml")
    assert len(await page.get("api/approvals")) == 2
    cluster.users["ml-token"] = User(name="mia", reads={"ml"})
    async with opened_page(endpoint(cluster, "ml-token"), namespaces=("ml",)) as other:
        [shown] = await other.get("api/approvals")
        assert (shown["task"], shown["mayAnswer"]) == ("m", False)
        assert "you may not patch taskruns in namespace ml" in shown["reason"]
        assert await other.status("GET", "api/approvals?ns=data") == 403


def lease(cluster: MadeUpApi, name: str, pool: str, age: float) -> None:
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": 15,
        "renewTime": times.rfc3339(cluster.clock.now() - age),
    }
    metadata = {"namespace": "torpor-system", "name": name, "labels": {constants.LABEL_POOL: pool}}
    cluster.server.put(LEASES, {"metadata": metadata, "spec": spec})


async def test_triggerers_show_replicas_pools_and_waits(cluster: MadeUpApi, page: Browser) -> None:
    cluster.add_namespaces("torpor-system")
    lease(cluster, "triggerer-0", "default", 1)
    lease(cluster, "triggerer-1", "default", 600)
    now = cluster.clock.now()
    trigger = {"class": "http", "kwargs": json.dumps({"url": "https://example.org/x"}), "key": "k"}
    for number in range(3):
        taskrun(cluster, f"w{number}", "Deferred", trigger=trigger, deferredAt=times.rfc3339(now - 30))
    due = {"class": "time", "kwargs": json.dumps({"at": times.rfc3339(now + 600)})}
    taskrun(cluster, "t", "Deferred", trigger=due, deferredAt=times.rfc3339(now - 7200), spec={"groupIndexes": [2]})
    shown = await page.get("api/triggerers?ns=data")
    assert [(each["name"], each["ready"]) for each in shown["replicas"]] == [
        ("triggerer-0", True),
        ("triggerer-1", False),
    ]
    assert [(pool["name"], pool["replicas"], pool["ready"], pool["waits"]) for pool in shown["pools"]] == [
        ("default", 2, 1, 4)
    ]
    assert shown["waits"]["byClass"] == [["http", 3], ["time", 1]]
    assert shown["waits"]["byHost"] == [["example.org", 3]]
    assert shown["shared"][0]["waits"] == 3
    assert [(wait["key"], wait["run"]) for wait in shown["due"]] == [("t/2", "live/data/etl")]
    assert any("get pods/proxy" in note for note in shown["notes"])


@pytest.mark.attack
async def test_a_lease_whose_holder_is_a_path_leads_nowhere(cluster: MadeUpApi, page: Browser) -> None:
    cluster.add_namespaces("torpor-system")
    lease(cluster, "r", "default", 1)
    hostile = {"spec": {"holderIdentity": "../../../namespaces/data/secrets/x?"}}
    cluster.server.edit(LEASES, "torpor-system", "r", hostile)
    await page.get("api/triggerers?ns=data")
    assert not [request for request in cluster.requests if "secrets" in request]


METRICS = """
# HELP torpor_shards_owned Shards
torpor_shards_owned{pool="default"} 128.0
torpor_triggers_running{class="http",pool="default"} 40.0
torpor_triggers_running{class="tcp",pool="default"} 2.0
torpor_loop_lag_seconds_sum{pool="default"} 0.5
torpor_loop_lag_seconds_count{pool="default"} 100.0
torpor_loop_blocked_total{class="sql",pool="default"} 3.0
not a sample
torpor_shards_owned{ 1e999999
"""


def test_the_metrics_of_a_replica_are_read_leniently() -> None:
    metrics = triggerer_page.parse_metrics(METRICS)
    assert (metrics.shards, metrics.waits, metrics.loop_lag, metrics.blocked) == (128, 42, 0.005, {"sql": 3})


@pytest.mark.attack
def test_a_metric_that_is_no_number_counts_nothing() -> None:
    metrics = triggerer_page.parse_metrics('torpor_shards_owned 9e999\ntorpor_loop_blocked_total{class="x"} 9e999\n')
    assert (metrics.shards, metrics.blocked) == (0, {})


@pytest.mark.attack
async def test_a_caller_without_rights_in_the_system_namespace_gets_notes(cluster: MadeUpApi) -> None:
    cluster.users["ml-token"] = User(name="mia", reads={"ml"})
    async with opened_page(endpoint(cluster, "ml-token"), namespaces=("ml",)) as page:
        shown = await page.get("api/triggerers")
    assert shown["replicas"] == []
    assert "you may not list all namespaces; these are ml" in shown["notes"]
    assert any("you may not list leases" in note for note in shown["notes"])


async def test_the_cluster_shows_pods_against_waits(cluster: MadeUpApi, page: Browser) -> None:
    now = cluster.clock.now()
    created = times.rfc3339(now - 7300)
    waiting = {"state": "Deferred", "at": times.rfc3339(now - 7200), "attempt": 1}
    running = {"state": "Running", "at": times.rfc3339(now - 7290), "attempt": 1}
    body = taskrun(cluster, "w", "Deferred", history=[running, waiting], deferredAt=waiting["at"])
    cluster.server.edit(TASKRUNS, "data", body["metadata"]["name"], {"metadata": {"creationTimestamp": created}})
    taskrun(cluster, "r", "Running", spec={"pool": "db"})
    taskrun(cluster, "q", "Scheduled", spec={"pool": "db"})
    config = {"metadata": {"namespace": "data", "name": constants.POOLS_CONFIG}, "data": {"db": "2"}}
    cluster.server.put(CONFIG_MAPS, config)
    metadata = {"namespace": "data", "name": "etl"}
    cluster.server.put(WORKFLOWS, {"metadata": metadata, "spec": {}, "status": {"state": "Running"}})
    shown = await page.get("api/cluster?ns=data")
    assert (shown["pods"], shown["waits"], shown["saved"]) == (1, 1, {"podHours": 2.0, "now": 1})
    assert shown["slots"] == [{"namespace": "data", "name": "db", "size": 2, "used": 1, "queued": 1}]
    assert shown["runs"] == {"Running": 1}
    assert shown["history"]["waits"][-1] == 1
    assert shown["history"]["t"][-1] >= now - 1


def test_the_history_of_a_cluster_at_rest_goes_on_until_now() -> None:
    statistics = ClusterStatistics(1000.0)
    statistics.intervals.append(PhaseInterval("running", 100.0, 200.0))
    shown = cluster_page.build(ClusterReads(statistics=statistics))["history"]
    assert shown == {"t": [100.0, 200.0, 1000.0], "pods": [1, 0, 0], "waits": [0, 0, 0]}
    assert cluster_page.build(ClusterReads(statistics=ClusterStatistics(0.0)))["history"]["t"] == []


async def test_a_large_cluster_is_counted_in_part(
    cluster: MadeUpApi, page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview_routes, "_TASKRUNS_MAX", 1)
    taskrun(cluster, "a", "Running")
    shown = await page.get("api/cluster?ns=data")
    assert "only the first 1 TaskRuns are counted" in shown["notes"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("500m", 0.5), ("2Gi", 2.0 * 1024**3), ("10", 10.0), (4, 4.0), ("1e3", None), ("x", None), (None, None)],
)
def test_quantities_of_kubernetes_are_numbers(written: object, value: float | None) -> None:
    assert cluster_page.quantity(written) == value


async def test_the_viewers_of_one_identity_share_a_scan(cluster: MadeUpApi, page: Browser) -> None:
    taskrun(cluster, "a", "Running")
    for _ in range(3):
        await page.get("api/cluster?ns=data")
    listed = [
        request
        for request in cluster.requests
        if request.endswith("list /apis/torpor.dev/v1alpha1/namespaces/data/taskruns")
    ]
    assert len(listed) == 1


@pytest.mark.attack
async def test_a_scan_is_not_shared_with_another_identity(cluster: MadeUpApi, page: Browser) -> None:
    taskrun(cluster, "a", "Running")
    await page.get("api/cluster?ns=data")
    cluster.users["ml-token"] = User(name="mia", reads={"ml"})
    async with opened_page(endpoint(cluster, "ml-token"), namespaces=("ml",)) as other:
        assert await other.status("GET", "api/cluster?ns=data") == 403

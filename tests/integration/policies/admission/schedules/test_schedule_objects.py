"""Objects of a Schedule: their names with the longest names of Schedule and source, and who may create them."""

from collections.abc import Callable
from typing import Any

import pytest
from torpor_crds.models import schedule as schedules
from torpor_crds.models.run_of import RunOf
from torpor_operator.scheduled_runs import run_builder
from torpor_operator.schedules.plan import source_taskrun
from torpor_wire import names

from tests.integration.conftest import Server, collection
from tests.integration.policies.admission.person import RBAC
from tests.support.manifests import manifest

_SOURCE = "s" * 40
_NOON = 1_790_000_000.0


def schedule(namespace: str, name: str) -> dict[str, Any]:
    return manifest(
        "Schedule",
        name,
        {
            "sources": [{"name": _SOURCE, "cron": "@daily", "timezone": "Europe/Berlin"}],
            "workflow": {"tasks": [{"name": "load", "python": "m:f", "image": "x"}]},
            "jitter": "10m",
        },
        namespace=namespace,
    )


@pytest.fixture
def created(server: Server, namespace: str) -> Callable[[str], schedules.Schedule]:
    """Creates a Schedule of a name."""

    def create(name: str) -> schedules.Schedule:
        return schedules.parse(server.create("schedules", namespace, schedule(namespace, name)).expect(201))

    return create


@pytest.mark.parametrize("name", ["a" * 253, "a" * 49 + "." + "b" * 203, "a.b-" * 63 + "c", "1"])
def test_a_schedule_of_any_name_has_sources_and_runs(
    server: Server, namespace: str, created: Callable[[str], schedules.Schedule], name: str
) -> None:
    made = created(name)
    taskrun = source_taskrun.build(made, made.spec.sources[0])
    server.create("taskruns", namespace, taskrun).expect(201)
    key = names.tick_key(made.metadata.uid, _SOURCE, _NOON)
    run_of = RunOf(schedule=name, uid=made.metadata.uid, source=_SOURCE, at="2026-09-21T14:13:20Z")
    run = run_builder.build_run(made, name=names.run(name, key), run_of=run_of, params={}, labels={})
    server.create("workflows", namespace, run).expect(201)
    assert len(run["metadata"]["name"]) <= 50
    other = names.run(name, names.tick_key(made.metadata.uid, _SOURCE, _NOON + 86_400))
    assert other != run["metadata"]["name"]


def test_schedules_whose_names_differ_at_the_end_share_no_object(
    created: Callable[[str], schedules.Schedule],
) -> None:
    one, other = created("a" * 252 + "1"), created("a" * 252 + "2")
    built = [source_taskrun.build(each, each.spec.sources[0])["metadata"] for each in (one, other)]
    assert built[0]["name"] != built[1]["name"]
    assert built[0]["labels"] != built[1]["labels"]


def test_a_name_above_the_limit_is_rejected(server: Server, namespace: str) -> None:
    answer = server.create("schedules", namespace, schedule(namespace, "a" * 254))
    assert answer.status == 422
    assert "must be no more than 253" in answer.message


@pytest.mark.parametrize("role", ["torpor-edit", "torpor-view", "torpor-approve", "torpor-task"])
def test_no_role_for_people_and_tasks_may_create_a_taskrun_of_a_schedule(
    server: Server, namespace: str, created: Callable[[str], schedules.Schedule], role: str
) -> None:
    made = created("nightly")
    taskrun = source_taskrun.build(made, made.spec.sources[0])
    path = collection("taskruns", namespace)
    answer = server.request("POST", path, taskrun, token=_person(server, namespace, "ann", role))
    assert answer.status == 403, answer.message
    operator = _person(server, namespace, "operator", "torpor-operator-namespace")
    server.request("POST", path, taskrun, token=operator).expect(201)


def _person(server: Server, namespace: str, name: str, role: str) -> str:
    """The token of a user with a ClusterRole in the namespace."""
    metadata = {"name": name, "namespace": namespace}
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    server.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        }
    )
    return server.token(namespace, name)

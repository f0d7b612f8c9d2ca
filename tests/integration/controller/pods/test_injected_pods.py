"""What a real API server says of injected pods, and what the operator may ask it with its own token.

The namespace enforces Pod Security `restricted`. All creations are dry runs.
"""

from collections.abc import Callable
from typing import Any

import pytest
from torpor_operator.injection.detector import probe
from torpor_operator.settings import Settings

from tests.integration.conftest import Server, collection
from tests.support.builders import python
from tests.support.plan_fixture import PlanFixture

_DEVICES = {"resources": {"limits": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"}}}


@pytest.fixture
def token(server: Server) -> str:
    """The token of the operator as it is installed."""
    return server.token("torpor-system", "torpor-operator")


def pod(*, image_volumes: bool, **fields: Any) -> dict[str, Any]:
    """The pod of a task as the operator creates it."""
    world = PlanFixture(python("load", source={"configMap": "etl"}, **fields))
    world.image_volumes = image_volumes
    (body,) = world.settle().pods.values()
    metadata = {key: body["metadata"][key] for key in ("name", "labels")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body["spec"]}


@pytest.mark.parametrize("image_volumes", [True, False], ids=["image volume", "init container"])
@pytest.mark.parametrize("fields", [{}, {"pod": _DEVICES}], ids=["plain", "with devices"])
def test_an_injected_pod_is_allowed_in_a_restricted_namespace(
    server: Server, open_namespace: Callable[[], str], token: str, fields: dict[str, Any], *, image_volumes: bool
) -> None:
    body = pod(image_volumes=image_volumes, **fields)

    answer = server.request("POST", collection("pods", open_namespace()), body, token=token, dryRun="All")

    assert answer.status == 201, answer.message
    stored = answer.body["spec"]
    kinds = {volume["name"]: {*volume} - {"name"} for volume in stored["volumes"]}
    assert kinds["torpor-runtime"] == ({"image"} if image_volumes else {"emptyDir"})
    assert stored["containers"][0]["command"] == ["python3", "/torpor/start.py"]


def test_the_operator_may_find_out_what_the_cluster_supports(
    server: Server, open_namespace: Callable[[], str], token: str
) -> None:
    namespace = open_namespace()

    tried = server.request(
        "POST", collection("pods", namespace), probe(namespace, Settings()), token=token, dryRun="All"
    )

    assert tried.status == 201, tried.message
    assert [*tried.body["spec"]["volumes"][0]] == ["name", "image"]
    assert server.request("GET", "/api/v1/nodes", token=token).status == 200
    assert server.request("GET", "/version", token=token).expect(200)["gitVersion"].startswith("v1.")
    assert server.request("GET", collection("pods", namespace)).expect(200)["items"] == []

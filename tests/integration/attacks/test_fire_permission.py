"""A real API server: a pool that is bound in one namespace runs no trigger of another."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import eventually

pytestmark = pytest.mark.integration

_GROUP = "rbac.authorization.k8s.io"
_HOME = "torpor-system"


@pytest.fixture
def narrow_pool(empty_pool: Any) -> Iterator[Any]:
    """As docs/how-to/write-a-trigger.md says: RoleBindings in place of the ClusterRoleBinding.

    Policy torpor-lease knows a pool by the name of its account, or because it may `fire` where its Leases are. This
    pool has the account of the default pool, so it is bound there as well.
    """
    pool = empty_pool
    path = f"/apis/{_GROUP}/v1/clusterrolebindings/{pool.name}"
    binding = pool.server.request("GET", path).expect(200)
    pool.server.request("DELETE", path).expect(200)
    for namespace in (pool.namespace, _HOME):
        pool.server.apply(
            {
                "apiVersion": f"{_GROUP}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": pool.name, "namespace": namespace},
                "roleRef": binding["roleRef"],
                "subjects": binding["subjects"],
            }
        )
    yield pool
    pool.server.request("DELETE", f"/apis/{_GROUP}/v1/namespaces/{_HOME}/rolebindings/{pool.name}")


def test_a_trigger_of_a_namespace_that_the_pool_is_not_bound_in_does_not_run(
    narrow_pool: Any, open_namespace: Callable[[], str], tmp_path: Path
) -> None:
    pool = narrow_pool
    mine, theirs = pool.namespace, open_namespace()
    triggerer = f"system:serviceaccount:{_HOME}:torpor-triggerer"

    def is_refused() -> bool:
        return all(pool.name not in rule.get("resourceNames", []) for rule in pool.server.rules(triggerer, theirs))

    eventually(is_refused, "the authorizer knows that the binding is gone")
    pool.start()
    pool.namespace = theirs
    refused = pool.deferred("shows", {"given": "their word", "then": "fires", "path": str(tmp_path)})
    pool.until(lambda: bool(pool.events(refused)), "an Event tells it")
    ((reason, note),) = pool.events(refused)
    assert reason == "FireForbidden"
    assert f"the triggerers of pool {pool.name} may not fire in namespace {theirs}" in note
    assert pool.waits(refused)
    assert "their word" not in pool.replicas[0].text()
    pool.namespace = mine
    assert pool.ends(pool.deferred("shows", {"given": "my word", "then": "fires", "path": str(tmp_path)})).event

"""Tests with a real API server: only authorized triggers receive the content of a Secret or a sealed value."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor import sealing
from torpor.sealing import SealScope
from torpor_wire import constants
from torpor_wire.secret_ref import ConfigMapRef, SecretRef

pytestmark = pytest.mark.integration

SECRET = "hunter2-hunter2"
REFERENCE = SecretRef("db", "password").written()
_COMPONENT = Path(__file__).resolve().parents[3] / "manifests/components/secrets/role.yaml"
_GROUP = "rbac.authorization.k8s.io"


def make_secret(pool: Any) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": SECRET}}
    pool.server.create("secrets", pool.namespace, body).expect(201)


def add_component(pool: Any) -> None:
    for document in yaml.safe_load_all(_COMPONENT.read_text()):
        document["metadata"]["namespace"] = pool.namespace
        pool.server.apply(document)


def let_read(pool: Any, account: str, resource: str = "secrets") -> None:
    """Let an account of the namespace read the Secret, as the message of a denial says how to."""
    name = f"read-{resource}-db-{account}"
    head = {"apiVersion": f"{_GROUP}/v1", "metadata": {"name": name, "namespace": pool.namespace}}
    rule = {"apiGroups": [""], "resources": [resource], "resourceNames": ["db"], "verbs": ["get"]}
    reference = {"apiGroup": _GROUP, "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": pool.namespace}
    pool.server.apply({**head, "kind": "Role", "rules": [rule]})
    pool.server.apply({**head, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]})


def seen(pool: Any, name: str) -> str:
    """All that anybody may see: logs, the TaskRun, its Events, and what is published."""
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{pool.namespace}/taskruns/{name}"
    events = f"/apis/events.k8s.io/v1/namespaces/{pool.namespace}/events"
    maps = "/api/v1/namespaces/torpor-system/configmaps"
    answers = [pool.server.request("GET", item).expect(200) for item in (path, events, maps)]
    return json.dumps(answers) + "".join(replica.text() for replica in pool.replicas)


def public_key(pool: Any) -> str:
    path = f"/api/v1/namespaces/torpor-system/configmaps/torpor-seal-{pool.name}"

    def published() -> str:
        return str((pool.server.request("GET", path).expect(200).get("data") or {}).get(constants.SEAL_DATA, ""))

    pool.until(lambda: bool(published()), "its key is published")
    return published()


def test_two_rights_are_needed_and_each_is_asked_for_in_words(pool: Any, tmp_path: Path) -> None:
    make_secret(pool)
    kwargs = {"given": REFERENCE, "then": "fires", "path": str(tmp_path)}
    spec = {"python": "m:f", "image": "i"}
    status = pool.ends(pool.deferred("shows", kwargs, spec=spec))
    assert status.reason == "SecretForbidden"
    assert f"ServiceAccount torpor-task may not get Secret db in namespace {pool.namespace}" in status.message
    let_read(pool, "torpor-task")
    status = pool.ends(pool.deferred("shows", kwargs, spec=spec))
    assert status.reason == "SecretForbidden"
    assert "add manifests/components/secrets" in status.message
    add_component(pool)
    name = pool.deferred("shows", kwargs, spec=spec)
    status = pool.ends(name)
    assert (status.state, status.event) == ("Scheduled", '{"echo":"***"}')
    assert "hunter2" not in seen(pool, name)
    other = pool.deferred("shows", kwargs, spec={**spec, "serviceAccount": "another"})
    assert "ServiceAccount another may not get Secret db" in pool.ends(other).message


def test_a_secret_is_never_visible_while_a_wait_uses_it_or_after_it_failed(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    pool.start()
    make_secret(pool)
    add_component(pool)
    let_read(pool, "torpor-task")
    name = pool.deferred("shows", {"given": REFERENCE, "then": "raises", "path": str(tmp_path / "go")})
    pool.until(lambda: pool.status(name).reason == "Waiting", "it says what it waits for")
    message = pool.status(name).message
    assert 'not yet "***", ' in message
    assert " tries, last at " in message
    assert "hunter2" not in seen(pool, name)
    (tmp_path / "go").touch()
    status = pool.ends(name)
    assert (status.reason, status.log.count("***") > 2) == ("TriggerFailed", True)
    pool.until(lambda: bool(pool.events(name)), "there is an Event")
    assert "hunter2" not in seen(pool, name)


def test_a_config_map_needs_the_same_two_rights(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    pool.start()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db"}, "data": {"region": "of-the-map"}}
    pool.server.create("configmaps", pool.namespace, body).expect(201)
    kwargs = {"given": ConfigMapRef("db", "region").written(), "then": "fires", "path": str(tmp_path)}
    let_read(pool, "torpor-task")
    denied = pool.ends(pool.deferred("shows", kwargs)).message
    assert f"ServiceAccount torpor-task may not get ConfigMap db in namespace {pool.namespace}" in denied
    let_read(pool, "torpor-task", "configmaps")
    assert "the triggerer may not read ConfigMaps" in pool.ends(pool.deferred("shows", kwargs)).message
    add_component(pool)
    assert pool.ends(pool.deferred("shows", kwargs)).event == '{"echo":"of-the-map"}'


def test_a_secret_that_comes_later_is_waited_for(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    pool.start()
    add_component(pool)
    let_read(pool, "torpor-task")
    name = pool.deferred("shows", {"given": REFERENCE, "then": "fires", "path": str(tmp_path)})
    pool.until(lambda: "Secret db does not exist" in pool.replicas[0].text(), "it looks for it")
    make_secret(pool)
    assert pool.ends(name).event == '{"echo":"***"}'


def test_only_its_pool_opens_a_sealed_value_and_only_in_its_namespace(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    first, second = pool.start(), pool.start()
    key = public_key(pool)
    pool.until(lambda: "Created the key pair" in first.text() + second.text(), "it is said")
    assert (first.text() + second.text()).count("Created the key pair") == 1
    kwargs = {"then": "fires", "path": str(tmp_path)}
    use = SealScope(pool.namespace, "shows", "encrypted__given")
    name = pool.deferred("shows", {**kwargs, "encrypted__given": sealing.seal(SECRET, key, use)})
    assert pool.ends(name).event == '{"echo":"***"}'
    assert "hunter2" not in seen(pool, name)
    copied = pool.deferred(
        "shows", {**kwargs, "encrypted__given": sealing.seal(SECRET, key, use._replace(namespace="elsewhere"))}
    )
    status = pool.ends(copied)
    assert (status.reason, "sealed in another namespace" in status.message) == ("SealInvalid", True)


def test_a_pools_triggerer_reads_no_secret_but_its_own_pools(pool: Any) -> None:
    token = pool.token
    secrets = "/api/v1/namespaces/torpor-system/secrets"
    own = pool.server.request("GET", f"{secrets}/torpor-seal-{pool.name}", token=token)
    pair = {name: base64.b64decode(text).decode() for name, text in own.expect(200)["data"].items()}
    assert pair.keys() == {"privateKey", "publicKey"}
    theirs = f"/api/v1/namespaces/{pool.namespace}/secrets"
    for path in (secrets, "/api/v1/secrets", f"{secrets}/torpor-seal-another", theirs):
        assert pool.server.request("GET", path, token=token).status == 403, path
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "torpor-seal-another"}}
    assert pool.server.request("POST", secrets, body, token=token).status == 403

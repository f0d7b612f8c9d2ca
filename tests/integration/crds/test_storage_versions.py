"""The plan for v1beta1 (ADR 0071): equal schemas, conversion strategy None, and no webhook.

The kinds are copies in a group of these tests, since the API server is shared.
"""

import copy
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from tests.integration.conftest import ROOT, Server, eventually

Object = dict[str, Any]
OLD, NEW = "v1alpha1", "v1beta1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_JSON_PATCH, _MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A copy of one of Torpor's kinds."""

    server: Server
    crd: Object
    spec: Object

    @property
    def group(self) -> str:
        return str(self.crd["spec"]["group"])

    @property
    def text_field(self) -> str:
        """A field of the status that takes any text."""
        return "progress" if self.crd["spec"]["names"]["plural"] == "workflows" else "message"

    @property
    def path(self) -> str:
        return f"{_CRDS}/{self.crd['metadata']['name']}"

    def objects(self, version: str, namespace: str, name: str = "") -> str:
        path = f"/apis/{self.group}/{version}/namespaces/{namespace}/{self.crd['spec']['names']['plural']}"
        return f"{path}/{name}" if name else path

    def serve(self, *, storage: str, served: Sequence[str] = (OLD, NEW)) -> None:
        """Serve some versions, and store one of them."""
        versions = [
            version | {"storage": version["name"] == storage, "served": version["name"] in served}
            for version in self._versions()
        ]
        patch = {"spec": {"versions": versions, "conversion": {"strategy": "None"}}}
        self.server.request("PATCH", self.path, patch, content_type=_MERGE_PATCH).expect(200)
        for version in served:
            self.await_served(version)

    def await_served(self, version: str) -> None:
        """Wait until the API server serves a version; before, its answer is no JSON."""
        eventually(lambda: self.is_served(version), f"{version} is served")

    def is_served(self, version: str) -> bool:
        """Return whether the API server lists objects in a version. Of a version that it does not serve it has none."""
        try:
            return self.server.request("GET", self.objects(version, "default")).status == 200
        except ValueError:
            return False

    def create(self, version: str, namespace: str, name: str) -> Object:
        body = {
            "apiVersion": f"{self.group}/{version}",
            "kind": self.crd["spec"]["names"]["kind"],
            "metadata": {"name": name},
            "spec": self.spec,
        }
        return self.server.request("POST", self.objects(version, namespace), body).expect(201)

    def get(self, version: str, namespace: str, name: str) -> Object:
        return self.server.request("GET", self.objects(version, namespace, name)).expect(200)

    def _versions(self) -> list[Object]:
        (old,) = self.crd["spec"]["versions"]
        return [old, copy.deepcopy(old) | {"name": NEW}]


_SPECS: Mapping[str, Object] = {
    "workflows": {"image": "x", "tasks": [{"name": "load", "python": "a:b"}]},
    "taskruns": {"workflow": {"name": "w", "uid": "u"}, "task": "load", "image": "x", "python": "a:b"},
}


@pytest.fixture(params=[*_SPECS])
def kind(request: pytest.FixtureRequest, server: Server) -> Iterator[Kind]:
    """A kind that is served and stored as v1alpha1 only."""
    documents = yaml.safe_load_all((ROOT / "manifests/install.yaml").read_text())
    name, group = f"{request.param}.torpor.dev", f"test-{uuid.uuid4().hex[:8]}.torpor.test"
    crd = next(copy.deepcopy(each) for each in documents if each["metadata"]["name"] == name)
    crd["metadata"] = {"name": f"{request.param}.{group}"}
    crd["spec"]["group"] = group
    crd["spec"]["names"].pop("categories", None)
    crd["spec"]["names"].pop("shortNames", None)
    kind = Kind(server=server, crd=crd, spec=_SPECS[request.param])
    server.request("POST", _CRDS, crd).expect(201)
    try:
        kind.await_served(OLD)
        yield kind
    finally:
        server.request("DELETE", kind.path).expect(200)


def test_both_versions_show_one_object_and_take_the_same_patches(kind: Kind, namespace: str) -> None:
    created = kind.create(OLD, namespace, "one")
    kind.serve(storage=OLD)
    seen = kind.get(NEW, namespace, "one")
    assert seen["apiVersion"] == f"{kind.group}/{NEW}"
    assert (seen["spec"], seen["metadata"]["uid"]) == (created["spec"], created["metadata"]["uid"])

    patch = [
        {"op": "test", "path": "/metadata/uid", "value": created["metadata"]["uid"]},
        {"op": "add", "path": "/status", "value": created.get("status", {}) | {kind.text_field: "1/1"}},
    ]
    path = f"{kind.objects(NEW, namespace, 'one')}/status"
    kind.server.request("PATCH", path, patch, content_type=_JSON_PATCH).expect(200)
    assert kind.get(OLD, namespace, "one")["status"][kind.text_field] == "1/1"


def test_the_storage_version_moves_on_without_losing_an_object(kind: Kind, namespace: str) -> None:
    kind.create(OLD, namespace, "one")
    kind.serve(storage=OLD)
    kind.serve(storage=NEW)
    kind.create(OLD, namespace, "two")
    status = kind.server.request("GET", kind.path).expect(200)["status"]
    assert status["storedVersions"] == [OLD, NEW]

    before = kind.get(OLD, namespace, "one")
    # Any write of the unchanged object stores it in the new version.
    kind.server.request("PUT", kind.objects(NEW, namespace, "one"), kind.get(NEW, namespace, "one")).expect(200)
    trimmed = {"status": {"storedVersions": [NEW]}}
    kind.server.request("PATCH", f"{kind.path}/status", trimmed, content_type=_MERGE_PATCH).expect(200)
    after = kind.get(OLD, namespace, "one")
    assert (after["spec"], after.get("status"), after["metadata"]["uid"]) == (
        before["spec"],
        before.get("status"),
        before["metadata"]["uid"],
    )
    assert kind.get(NEW, namespace, "two")["spec"] == kind.get(OLD, namespace, "two")["spec"]


def test_an_object_of_the_old_version_outlives_that_version(kind: Kind, namespace: str) -> None:
    created = kind.create(OLD, namespace, "one")
    kind.serve(storage=NEW)
    kind.server.request("PUT", kind.objects(NEW, namespace, "one"), kind.get(NEW, namespace, "one")).expect(200)
    trimmed = {"status": {"storedVersions": [NEW]}}
    kind.server.request("PATCH", f"{kind.path}/status", trimmed, content_type=_MERGE_PATCH).expect(200)
    kind.serve(storage=NEW, served=[NEW])
    eventually(lambda: not kind.is_served(OLD), f"{OLD} is not served")

    kept = kind.get(NEW, namespace, "one")
    assert (kept["spec"], kept["metadata"]["uid"]) == (created["spec"], created["metadata"]["uid"])


def test_field_selectors_work_in_both_versions(kind: Kind, namespace: str) -> None:
    (old,) = kind.crd["spec"]["versions"]
    if not old.get("selectableFields"):
        return
    kind.create(OLD, namespace, "one")
    kind.serve(storage=NEW)
    for version in (OLD, NEW):
        answer = kind.server.request("GET", kind.objects(version, namespace), fieldSelector="status.state=Scheduled")
        assert [item["metadata"]["name"] for item in answer.expect(200)["items"]] == ["one"]


def test_every_policy_is_for_all_versions() -> None:
    documents = [*yaml.safe_load_all((ROOT / "manifests/install.yaml").read_text())]
    policies = [each for each in documents if each["kind"] == "ValidatingAdmissionPolicy"]
    rules = [rule for policy in policies for rule in policy["spec"]["matchConstraints"]["resourceRules"]]
    ours = [rule for rule in rules if "torpor.dev" in rule["apiGroups"]]
    assert ours
    assert {version for rule in ours for version in rule["apiVersions"]} == {"*"}

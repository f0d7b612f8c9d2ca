"""The component manifests/components/signed-images: pods run only images whose signature was verified."""

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_dev import kubectl
from torpor_dev.offline import golang
from torpor_release import signing
from torpor_release.signing import Signer

from tests.integration.conftest import ROOT, Answer, Server, collection, eventually
from tests.integration.policies.transitions.conftest import pod_body
from tests.integration.release import pushed_images
from tests.integration.release.pushed_images import SigningKeys

_COMPONENT = ROOT / "manifests/components/signed-images"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_LIST = f"{collection('configmaps', 'torpor-system')}/torpor-signed-images"
_MERGE = "application/merge-patch+json"
_REPOSITORY = "registry.example.org/team/"
_DIGEST = f"sha256:{'a' * 64}"
_LISTED = f"{_REPOSITORY}torpor:1.0@{_DIGEST}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedImagesPolicy:
    """The policy in force for one namespace."""

    server: Server
    namespace: str

    def write_list(self, **data: str | None) -> None:
        """Change the list. None removes a key."""
        self.server.request("PATCH", _LIST, {"data": data}, content_type=_MERGE).expect(200)

    def create(self, image: str, **spec: Any) -> Answer:
        """Try to create a pod, as a dry run."""
        body = pod_body("probe")
        body["spec"]["containers"][0]["image"] = image
        body["spec"] |= spec
        return self.server.create("pods", self.namespace, body, dryRun="All")

    def admits(self, image: str) -> bool:
        return self.create(image).status == 201


@pytest.fixture(scope="module")
def policy(server: Server, open_namespace: Callable[[], str]) -> Iterator[SignedImagesPolicy]:
    """The component, for a namespace of these tests instead of torpor-system."""
    namespace = open_namespace()
    files = yaml.safe_load((_COMPONENT / "kustomization.yaml").read_text())["resources"]
    documents = [each for file in files for each in yaml.safe_load_all((_COMPONENT / file).read_text())]
    (binding,) = (each for each in documents if each["kind"].endswith("Binding"))
    (selected,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    selected["values"] = [namespace]
    for document in documents:
        server.apply(document)
    made = SignedImagesPolicy(server=server, namespace=namespace)
    eventually(lambda: not made.admits(_LISTED), "the policy is in force")
    yield made
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        server.request("DELETE", f"{_ADMISSION}/{kind}/torpor-signed-images")
    server.request("DELETE", _LIST)


@pytest.fixture
def listed(policy: SignedImagesPolicy) -> Iterator[SignedImagesPolicy]:
    """The policy with one digest on its list."""
    key = _DIGEST.replace(":", "-")
    policy.write_list(**{key: _LISTED})
    eventually(lambda: policy.admits(_LISTED), "the digest is on the list")
    yield policy
    policy.write_list(**{key: None})


@pytest.mark.attack
@pytest.mark.parametrize(
    "image",
    [
        f"{_REPOSITORY}torpor:1.0",
        f"{_REPOSITORY}torpor:1.0@sha256:{'b' * 64}",
        f"{_REPOSITORY}torpor@repository",
        f"{_REPOSITORY}torpor:{_DIGEST.replace(':', '-')}",
    ],
    ids=["a tag", "another digest", "a key of the list", "a tag that is like a key"],
)
def test_an_image_without_a_verified_digest_is_rejected(listed: SignedImagesPolicy, image: str) -> None:
    answer = listed.create(image)
    assert answer.status == 403
    assert f"no signature was verified for {image}: name the image by a digest" in answer.message


@pytest.mark.attack
@pytest.mark.parametrize("field", ["initContainers", "volumes"])
def test_an_unverified_image_beside_the_container_is_rejected(listed: SignedImagesPolicy, field: str) -> None:
    image = f"{_REPOSITORY}other:1.0"
    first = {**pod_body("probe")["spec"]["containers"][0], "name": "first", "image": image}
    volume = {"name": "files", "image": {"reference": image}}
    answer = listed.create(_LISTED, **{field: [first if field == "initContainers" else volume]})
    assert (answer.status, f"verified for {image}" in answer.message) == (403, True)


def test_images_of_other_repositories_are_admitted_unless_all_are_listed(listed: SignedImagesPolicy) -> None:
    assert listed.admits("registry.example.org/other:1.0")
    listed.write_list(repository="")
    try:
        eventually(lambda: not listed.admits("registry.example.org/other:1.0"), "the policy is for every image")
        assert listed.admits(_LISTED)
    finally:
        listed.write_list(repository=_REPOSITORY)


def test_a_pod_whose_image_leaves_the_list_can_still_be_changed(listed: SignedImagesPolicy) -> None:
    body = pod_body("stays")
    body["spec"]["containers"][0]["image"] = _LISTED
    listed.server.create("pods", listed.namespace, body).expect(201)
    listed.write_list(**{_DIGEST.replace(":", "-"): None})
    eventually(lambda: not listed.admits(_LISTED), "the digest is off the list")
    path = f"{collection('pods', listed.namespace)}/stays"
    change = {"metadata": {"labels": {"changed": "yes"}}}
    listed.server.request("PATCH", path, change, content_type=_MERGE).expect(200)
    other = {"spec": {"containers": [{"name": "task", "image": f"{_REPOSITORY}torpor:1.0"}]}}
    strategic = "application/strategic-merge-patch+json"
    assert listed.server.request("PATCH", path, other, content_type=strategic).status == 403


@pytest.mark.long
@pytest.mark.attack
@pytest.mark.skipif(not golang.built(golang.COSIGN), reason="cosign is not built: make tools")
def test_only_images_that_the_key_signed_can_run(
    policy: SignedImagesPolicy, registry: str, keys: SigningKeys, kubeconfig: Path, tmp_path: Path
) -> None:
    images = {name: pushed_images.pushed(tmp_path / name, registry, name) for name in ("signed", "foreign", "plain")}
    (tmp_path / "other").mkdir()
    signing.sign(images["signed"], Signer(key=keys.private))
    signing.sign(images["foreign"], Signer(key=pushed_images.key_pair(tmp_path / "other").private))
    policy.write_list(repository=f"{registry}/")
    try:
        done = {name: allow(image, keys, kubeconfig) for name, image in images.items()}
        assert {name: each.returncode == 0 for name, each in done.items()} == {
            "signed": True,
            "foreign": False,
            "plain": False,
        }, done
        eventually(lambda: policy.admits(images["signed"]), "the signed image is admitted")
        assert [policy.create(images[name]).status for name in ("foreign", "plain")] == [403, 403]
    finally:
        policy.write_list(repository=_REPOSITORY, **{images["signed"].partition("@")[2].replace(":", "-"): None})


def allow(image: str, keys: SigningKeys, kubeconfig: Path) -> "subprocess.CompletedProcess[str]":
    """Add an image to the list, as docs/operations/origin.md does it."""
    variables = {
        "COSIGN": str(golang.build(golang.COSIGN)),
        "COSIGN_OPTIONS": f"--key {keys.public} --insecure-ignore-tlog=true",
        "KUBECTL": str(kubectl.ensure()),
        "KUBECONFIG": str(kubeconfig),
    }
    command = ["sh", str(_COMPONENT / "allow.sh"), image]
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)

"""The component manifests/components/signed-images: pods run only images whose signature was verified."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_dev.offline import golang
from torpor_release import signing
from torpor_release.signing import Signer

from tests.integration.conftest import ROOT, Answer, Server, collection, eventually
from tests.integration.policies.transitions.conftest import pod_body
from tests.integration.release import pushed_images
from tests.integration.release.pushed_images import SigningKeys

_COMPONENT = ROOT / "manifests/components/signed-images"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_MERGE = "application/merge-patch+json"
_REPOSITORY = "registry.example.org/team/"
_DIGEST = f"sha256:{'a' * 64}"
_LISTED = f"{_REPOSITORY}torpor:1.0@{_DIGEST}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedImagesPolicy:
    """The policy in force for one namespace."""

    server: Server
    namespace: str

    def apply(self, repository: str, *digests: str) -> None:
        """Apply the component with these digests on its list, for the namespace instead of torpor-system."""
        policy, binding = yaml.safe_load_all((_COMPONENT / "policy.yaml").read_text())
        expressions = {"repository": f"'{repository}'", "signed": str(list(digests))}
        for variable in policy["spec"]["variables"]:
            variable["expression"] = expressions.get(variable["name"], variable["expression"])
        (selected,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
        selected["values"] = [self.namespace]
        for document in (policy, binding):
            self.server.apply(document)

    def create(self, image: str, **spec: Any) -> Answer:
        """Try to create a pod, as a dry run."""
        body = pod_body("probe")
        body["spec"]["containers"][0]["image"] = image
        body["spec"] |= spec
        return self.server.create("pods", self.namespace, body, dryRun="All")

    def admits(self, image: str) -> bool:
        return self.create(image).status == 201


@pytest.fixture
def policy(server: Server, namespace: str) -> Iterator[SignedImagesPolicy]:
    """A namespace for the policy, which is removed at the end."""
    yield SignedImagesPolicy(server=server, namespace=namespace)
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        server.request("DELETE", f"{_ADMISSION}/{kind}/torpor-signed-images")


@pytest.fixture
def listed(policy: SignedImagesPolicy) -> SignedImagesPolicy:
    """The policy with one digest on its list."""
    policy.apply(_REPOSITORY, _DIGEST)
    other = f"{_REPOSITORY}other:1.0"
    eventually(lambda: not policy.admits(other) and policy.admits(_LISTED), "the policy is in force")
    return policy


@pytest.mark.attack
@pytest.mark.parametrize(
    "image",
    [
        f"{_REPOSITORY}torpor:1.0",
        f"{_REPOSITORY}torpor:1.0@sha256:{'b' * 64}",
        f"{_REPOSITORY}torpor@{_DIGEST}0",
    ],
    ids=["a tag", "another digest", "a longer digest"],
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
    listed.apply("", _DIGEST)
    eventually(lambda: not listed.admits("registry.example.org/other:1.0"), "the policy is for every image")
    assert listed.admits(_LISTED)


def test_the_policy_as_shipped_selects_only_the_namespace_of_torpor() -> None:
    (file,) = yaml.safe_load((_COMPONENT / "kustomization.yaml").read_text())["resources"]
    _, binding = yaml.safe_load_all((_COMPONENT / file).read_text())
    selector = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["torpor-system"]}
    assert binding["spec"]["matchResources"] == {"namespaceSelector": {"matchExpressions": [selector]}}


def test_a_pod_whose_image_leaves_the_list_can_still_be_changed(listed: SignedImagesPolicy) -> None:
    body = pod_body("stays")
    body["spec"]["containers"][0]["image"] = _LISTED
    listed.server.create("pods", listed.namespace, body).expect(201)
    listed.apply(_REPOSITORY)
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
    policy: SignedImagesPolicy, registry: str, keys: SigningKeys, tmp_path: Path
) -> None:
    images = {name: pushed_images.pushed(tmp_path / name, registry, name) for name in ("signed", "foreign", "plain")}
    (tmp_path / "other").mkdir()
    signing.sign(images["signed"], Signer(key=keys.private))
    signing.sign(images["foreign"], Signer(key=pushed_images.key_pair(tmp_path / "other").private))
    copy = shutil.copytree(_COMPONENT, tmp_path / "signed-images")
    done = {name: allow(copy, image, keys) for name, image in images.items()}
    assert [name for name, each in done.items() if each.returncode == 0] == ["signed"], done

    policy.apply(f"{registry}/", *re.findall("sha256:[0-9a-f]{64}", (copy / "policy.yaml").read_text()))
    eventually(lambda: not policy.admits(images["plain"]), "the policy is in force")
    assert {name: policy.create(image).status for name, image in images.items()} == {
        "signed": 201,
        "foreign": 403,
        "plain": 403,
    }


def allow(component: Path, image: str, keys: SigningKeys) -> "subprocess.CompletedProcess[str]":
    """Add an image to the list, as docs/operations/origin.md does it."""
    options = f"--key {keys.public} --insecure-ignore-tlog=true"
    variables = {"COSIGN": str(golang.build(golang.COSIGN)), "COSIGN_OPTIONS": options}
    command = ["sh", str(component / "allow.sh"), image]
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)

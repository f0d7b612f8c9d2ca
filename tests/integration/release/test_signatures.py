"""Images are pushed to a registry, signed with a key and verified, by the programs of a release."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from torpor_dev import command
from torpor_dev.console import CommandError
from torpor_dev.offline import golang
from torpor_release import provenance, publication, signing
from torpor_release.signing import Signer, Verifier

from tests.integration.release.pushed_images import TAG, SigningKeys, key_pair, pushed

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.skipif(not golang.built(golang.COSIGN), reason="cosign is not built: make tools"),
]


def statement(verified: str) -> dict[str, Any]:
    envelope = json.loads(verified.splitlines()[-1])
    decoded: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return decoded


def test_an_image_is_pushed_by_its_digest_for_both_processors(tmp_path: Path, registry: str) -> None:
    reference = pushed(tmp_path, registry, "plain")
    index = json.loads(command.run(golang.build(golang.CRANE), "manifest", reference, limit=300))
    assert [each["platform"]["architecture"] for each in index["manifests"]] == ["amd64", "arm64"]
    tagged = command.run(golang.build(golang.CRANE), "digest", f"{registry}/plain:{TAG}", limit=300).strip()
    assert reference == f"{registry}/plain@{tagged}"
    assert tagged == provenance.digest_of_index(tmp_path / "images/plain")


def test_a_signed_image_and_its_statements_are_verified(tmp_path: Path, registry: str, keys: SigningKeys) -> None:
    reference = pushed(tmp_path, registry, "signed")
    predicate = tmp_path / "predicate.json"
    predicate.write_text(json.dumps({"buildDefinition": {"buildType": provenance.BUILD_TYPE}, "runDetails": {}}))
    signing.sign(reference, Signer(key=keys.private))
    signing.attest(reference, "slsaprovenance1", predicate, Signer(key=keys.private))
    accepted = Verifier(key=keys.public)
    signing.verify(reference, accepted)
    found = statement(signing.verified_statement(reference, "slsaprovenance1", accepted))
    assert found["predicateType"] == provenance.PREDICATE_TYPE
    assert found["predicate"]["buildDefinition"]["buildType"] == provenance.BUILD_TYPE
    assert found["subject"][0]["digest"]["sha256"] == reference.partition("@sha256:")[2]


@pytest.mark.attack
def test_an_image_without_a_signature_is_refused(tmp_path: Path, registry: str, keys: SigningKeys) -> None:
    reference = pushed(tmp_path, registry, "unsigned")
    with pytest.raises(CommandError, match="no signatures found"):
        signing.verify(reference, Verifier(key=keys.public))
    with pytest.raises(CommandError, match="cosign"):
        signing.verified_statement(reference, "slsaprovenance1", Verifier(key=keys.public))


@pytest.mark.attack
def test_an_image_that_another_key_signed_is_refused(tmp_path: Path, registry: str, keys: SigningKeys) -> None:
    reference = pushed(tmp_path, registry, "foreign")
    (tmp_path / "other").mkdir()
    signing.sign(reference, Signer(key=key_pair(tmp_path / "other").private))
    with pytest.raises(CommandError, match="failed to verify signature"):
        signing.verify(reference, Verifier(key=keys.public))


@pytest.mark.attack
def test_a_changed_file_is_refused(tmp_path: Path, keys: SigningKeys) -> None:
    file = tmp_path / "SHA256SUMS"
    file.write_text("0" * 64 + "  torpor.tar.gz\n")
    signing.sign_file(file, Signer(key=keys.private))
    signing.verify_file(file, Verifier(key=keys.public))
    file.write_text("1" * 64 + "  torpor.tar.gz\n")
    with pytest.raises(CommandError, match="verify-blob"):
        signing.verify_file(file, Verifier(key=keys.public))


def test_a_whole_release_is_pushed_signed_and_verified(tmp_path: Path, registry: str, keys: SigningKeys) -> None:
    names = ("torpor", "torpor-runtime")
    (tmp_path / "files").mkdir()
    (tmp_path / "files/SHA256SUMS").write_text("")
    (tmp_path / "images").mkdir()
    for name in names:
        pushed(tmp_path / name, f"{registry}/before", name)
        (tmp_path / name / "images" / name).rename(tmp_path / "images" / name)
        (tmp_path / f"{name}.cdx.json").write_text('{"bomFormat": "CycloneDX", "specVersion": "1.5", "components": []}')
        (tmp_path / f"{name}.provenance.json").write_text('{"buildDefinition": {}, "runDetails": {}}')
    references = publication.push(names, registry, "1.0.0", tmp_path)
    publication.sign(Signer(key=keys.private), tmp_path)
    publication.verify(Verifier(key=keys.public), tmp_path)
    digest = references["torpor"].partition("@")[2]
    assert f"image: {registry}/torpor:1.0.0@{digest}" in (tmp_path / publication.MANIFEST).read_text()
    assert digest in (tmp_path / "chart/torpor/values.yaml").read_text()
    signing.verify(references["chart"], Verifier(key=keys.public))

"""What proves where an image comes from: its bill of materials, its provenance, and who may sign."""

import hashlib
import json
from pathlib import Path

import pytest
from torpor_dev.console import DevError
from torpor_release import bill_of_materials, comparison, provenance, signing
from torpor_release.debian_packages import DebianPackage
from torpor_release.version import ROOT

DIGEST = "sha256:" + "0a" * 32
ZLIB = DebianPackage(name="zlib1g", version="1:1.2.13", architecture="arm64", sha256="1a" * 32)


def test_a_bill_of_materials_has_debian_and_pypi_packages_with_hashes() -> None:
    exported = {"components": [{"name": "yarl", "version": "1"}, {"name": "aiohttp", "version": "3"}]}
    pypi = bill_of_materials.from_uv(exported)
    debian = bill_of_materials.from_debian({"arm64": [ZLIB], "amd64": [ZLIB]})
    document = bill_of_materials.document("torpor", "1.0", DIGEST, 0, [*debian, *pypi])
    assert [each["name"] for each in document["components"]] == ["zlib1g", "aiohttp", "yarl"]
    assert debian[0]["purl"] == "pkg:deb/debian/zlib1g@1:1.2.13?arch=arm64&distro=bookworm"
    assert debian[0]["hashes"] == [{"alg": "SHA-256", "content": "1a" * 32}]
    assert document["metadata"]["component"]["purl"].endswith("0a" * 32)
    assert document == bill_of_materials.document("torpor", "1.0", DIGEST, 0, [*debian, *pypi])


def test_provenance_names_commit_builder_tools_and_every_lock() -> None:
    facts = provenance.BuildFacts(
        source="https://example.org/torpor",
        revision="c0ffee",
        version="1.0",
        image="torpor",
        builder="https://example.org/release.yaml",
        invocation="https://example.org/runs/1",
        tools={"python": "3.11.2"},
    )
    predicate = provenance.predicate(facts, provenance.locks(ROOT))
    definition = predicate["buildDefinition"]
    commit, *locks = definition["resolvedDependencies"]
    assert commit == {"uri": "git+https://example.org/torpor", "digest": {"gitCommit": "c0ffee"}}
    assert {each["name"] for each in locks} >= {"uv.lock", "dev/torpor_release/debian.json", "worker-image/pip.txt"}
    assert locks[0]["digest"]["sha256"] == hashlib.sha256((ROOT / "uv.lock").read_bytes()).hexdigest()
    assert definition["internalParameters"]["tools"] == {"python": "3.11.2"}
    assert predicate["runDetails"]["builder"]["id"] == "https://example.org/release.yaml"


def test_a_key_signs_without_any_public_service() -> None:
    with signing.Signer(key="cosign.key").options() as options:
        services = json.loads(Path(options[options.index("--signing-config") + 1]).read_text())
    assert options[:3] == ["--yes", "--key", "cosign.key"]
    assert services["rekorTlogConfig"] == services["tsaConfig"] == {}


def test_a_workflow_signs_with_its_identity_and_is_verified_by_it() -> None:
    with signing.Signer().options() as options:
        assert options == ["--yes"]
    accepted = signing.Verifier(identity="^https://example.org/", issuer="https://issuer.example.org")
    assert accepted.options() == [
        "--certificate-identity-regexp",
        "^https://example.org/",
        "--certificate-oidc-issuer",
        "https://issuer.example.org",
    ]


@pytest.mark.attack
def test_without_a_key_and_an_identity_nothing_is_accepted() -> None:
    for empty in (signing.Verifier(), signing.Verifier(identity=".*"), signing.Verifier(issuer="https://a")):
        with pytest.raises(DevError, match="KEY"):
            empty.options()


def build(folder: Path, digest: str, content: str) -> Path:
    """A finished build with one image and one file."""
    (folder / "images").mkdir(parents=True)
    (folder / "files").mkdir()
    (folder / "images/digests.json").write_text(json.dumps({"torpor": digest}))
    (folder / "files/torpor.tar.gz").write_text(content)
    return folder


def test_two_builds_are_compared_by_images_and_files(tmp_path: Path) -> None:
    first, same = build(tmp_path / "a", DIGEST, "x"), build(tmp_path / "b", DIGEST, "x")
    assert comparison.differences(first, same) == []
    other = build(tmp_path / "c", "sha256:ff", "y")
    (other / "files/more").touch()
    assert [line.split(":")[0] for line in comparison.differences(first, other)] == ["more", "torpor", "torpor.tar.gz"]

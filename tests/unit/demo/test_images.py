"""How images are named in a registry, and how a manifest names them."""

from typing import Any

import pytest
import yaml
from torpor_demo import images, manifest
from torpor_demo.images import Release
from torpor_dev.console import DevError
from torpor_dev.offline import base_image

DIGEST = "sha256:" + "0a" * 32
PUSHED = f"The push refers to repository [registry.example.org/team/torpor]\n1.0: digest: {DIGEST} size: 2203\n"
PULLED = f"1.0: Pulling from team/torpor\nDigest: {DIGEST}\nStatus: Image is up to date\n"


@pytest.mark.parametrize("registry", ["registry.example.org", "registry.example.org/team/a-b", "127.0.0.1:5000"])
def test_an_image_has_the_registrys_name_and_the_version(registry: str) -> None:
    release = images.release(registry, "1.0")
    assert release == Release(registry=registry, version="1.0")
    assert [release.tag(image) for image in images.ALL] == [
        f"{registry}/torpor:1.0",
        f"{registry}/torpor-worker:1.0",
        f"{registry}/torpor-runtime:1.0",
        f"{registry}/census:1.0",
    ]


def test_without_a_registry_and_a_version_there_is_no_release() -> None:
    assert images.release("", "") is None


@pytest.mark.parametrize(
    ("registry", "version", "named"),
    [
        ("registry.example.org", "", "REGISTRY and VERSION"),
        ("", "1.0", "REGISTRY and VERSION"),
        ("https://registry.example.org", "1.0", "REGISTRY"),
        ("registry.example.org/", "1.0", "REGISTRY"),
        ("registry.example.org/Team", "1.0", "REGISTRY"),
        ("registry.example.org", "1.0+2", "VERSION"),
        ("registry.example.org", "v" * 64, "VERSION"),
    ],
)
def test_a_bad_registry_or_version_is_named(registry: str, version: str, named: str) -> None:
    with pytest.raises(DevError, match=named):
        images.release(registry, version)


@pytest.mark.parametrize("output", [PUSHED, PULLED])
def test_the_digest_is_read_from_what_docker_prints(output: str) -> None:
    assert images.digest(output) == DIGEST


def test_output_without_a_digest_is_an_error() -> None:
    with pytest.raises(DevError, match="no digest"):
        images.digest("Status: Image is up to date\n")


def test_every_image_is_built_after_the_image_that_it_is_built_from() -> None:
    for number, image in enumerate(images.RELEASED):
        if image.parent is not None:
            argument, parent = image.parent
            assert parent in images.RELEASED[:number]
            assert f"FROM ${{{argument}}}" in (image.context / image.dockerfile).read_text()


def test_a_release_has_bytecode_for_every_python_that_can_be_pulled() -> None:
    release = Release(registry="registry.example.org", version="1.0")
    named = images.arguments_of(images.RUNTIME, base_image.OFFICIAL, release)
    assert named == {
        "BASE_IMAGE": base_image.OFFICIAL,
        "PYTHON_3_12": "python:3.12-slim",
        "PYTHON_3_13": "python:3.13-slim",
        "PYTHON_3_14": "python:3.14-slim",
    }
    dockerfile = (images.RUNTIME.context / images.RUNTIME.dockerfile).read_text()
    assert all(f"ARG {name}=" in dockerfile for name in named)
    for base, to in ((base_image.OFFICIAL, None), ("torpor-dev/python:3.11-x", release)):
        assert images.arguments_of(images.RUNTIME, base, to) == {"BASE_IMAGE": base}


def test_a_rendered_manifest_changes_only_the_image_to_its_digest() -> None:
    release = Release(registry="registry.example.org:5000/team", version="1.0")
    reference = release.reference(images.TORPOR, DIGEST)
    runtime = release.reference(images.RUNTIME, DIGEST)
    rendered = list(yaml.safe_load_all(manifest.released(manifest.BASE, reference, runtime)))
    deployments = [each for each in rendered if each["kind"] == "Deployment"]
    assert {c["image"] for each in deployments for c in each["spec"]["template"]["spec"]["containers"]} == {
        f"registry.example.org:5000/team/torpor:1.0@{DIGEST}"
    }
    # The version is not on what a Deployment selects or restarts by.
    assert {each["metadata"]["labels"].pop("app.kubernetes.io/version") for each in rendered} == {"1.0"}
    for each in deployments:
        container = each["spec"]["template"]["spec"]["containers"][0]
        container["image"] = "torpor:dev"
        for variable in container.get("env", []):
            if variable["name"] == "RUNTIME_IMAGE":
                assert variable["value"] == f"registry.example.org:5000/team/torpor-runtime:1.0@{DIGEST}"
                variable["value"] = "torpor-runtime:dev"
    committed = list(yaml.safe_load_all((manifest.BASE.parent / "install.yaml").read_text()))
    assert _with_sorted_variables(rendered) == _with_sorted_variables(committed)


def _with_sorted_variables(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects with the variables of their containers by name: kustomize moves those that it changes."""
    for each in objects:
        if each["kind"] == "Deployment":
            for container in each["spec"]["template"]["spec"]["containers"]:
                container.get("env", []).sort(key=lambda variable: variable["name"])
    return objects

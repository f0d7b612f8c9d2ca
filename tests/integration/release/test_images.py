"""Images of a release: the same bytes twice, programs of the right processor, and no privileges."""

import dataclasses
import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from torpor_dev.console import DevError
from torpor_release import debian_packages, release_images
from torpor_release.release_images import RUNTIME, WORKER, BuildInputs
from torpor_release.version import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.long]
MACHINES = {"amd64": 62, "arm64": 183}
"""The number of the processor in the header of a program."""
SITE = "opt/torpor/lib/python3.11/site-packages"


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> BuildInputs:
    """The inputs of this commit. Debian may have replaced packages since; then the newest ones."""
    if shutil.which("apt-get") is None:
        pytest.skip("images are built on Debian")
    found = release_images.inputs(tmp_path_factory.mktemp("wheels"))
    try:
        for architecture, packages in found.packages.items():
            debian_packages.fetch(packages, architecture)
    except DevError:
        newest = {architecture: debian_packages.resolve(architecture) for architecture in found.packages}
        return dataclasses.replace(found, packages=newest)
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, given: BuildInputs) -> Path:
    """The runtime for both processors, and the image of tasks for arm64."""
    target = tmp_path_factory.mktemp("images")
    release_images.build([RUNTIME], target, given)
    release_images.build([WORKER], target, given, ["arm64"])
    return target


def blob(layout: Path, digest: str) -> bytes:
    return (layout / "blobs/sha256" / digest.removeprefix("sha256:")).read_bytes()


def files(layout: Path, architecture: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Every member of the layers for a processor, with its content."""
    index = json.loads(blob(layout, json.loads((layout / "index.json").read_text())["manifests"][0]["digest"]))
    (found,) = (each for each in index["manifests"] if each["platform"]["architecture"] == architecture)
    for layer in json.loads(blob(layout, found["digest"]))["layers"]:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layout, layer["digest"])))) as tar:
            for info in tar:
                content = tar.extractfile(info) if info.isfile() else None
                yield info, content.read() if content else b""


def programs(contents: Mapping[str, bytes]) -> dict[str, int]:
    """The processor of each program and each library."""
    return {
        name: int.from_bytes(content[18:20], "little")
        for name, content in contents.items()
        if content[:4] == b"\x7fELF"
    }


@pytest.mark.parametrize("architecture", MACHINES)
def test_the_runtime_has_a_tool_for_each_processor(built: Path, architecture: str) -> None:
    contents = {info.name: content for info, content in files(built / "torpor-runtime", architecture)}
    assert programs(contents) == {"torpor-tool": MACHINES[architecture]}
    assert {"start.py", "lib/torpor/__init__.py", "lib/torpor_wire/__init__.py"} <= contents.keys()
    assert contents["ca-certificates.crt"].count(b"BEGIN CERTIFICATE") > 100


def test_a_second_build_gives_the_same_image(built: Path, given: BuildInputs, tmp_path: Path) -> None:
    again = release_images.build([RUNTIME], tmp_path, given)
    first = json.loads((built / "torpor-runtime/index.json").read_text())
    assert again == {"torpor-runtime": first["manifests"][0]["digest"]}


def test_the_image_of_tasks_is_for_the_other_processor(built: Path) -> None:
    members = dict(files(built / "torpor-worker", "arm64"))
    contents = {info.name: content for info, content in members.items()}
    found = programs(contents)
    assert set(found.values()) == {MACHINES["arm64"]}
    assert {"usr/bin/python3.11", "usr/bin/dash"} <= found.keys()
    assert {
        f"{SITE}/torpor/__init__.py",
        f"{SITE}/torpor_wire/__init__.py",
        f"{SITE}/pip/__init__.py",
    } <= contents.keys()
    assert any(name.startswith(f"{SITE}/torpor/__pycache__/") for name in contents)
    links = {info.name: info.linkname for info in members if info.issym()}
    assert (links["opt/torpor/bin/python"], links["usr/bin/sh"]) == ("/usr/bin/python3.11", "dash")
    assert b"Package: libssl3\n" in contents["var/lib/dpkg/status.d/libssl3"]


@pytest.mark.attack
def test_an_image_has_no_privileged_program_and_no_path_of_the_builder(built: Path) -> None:
    for info, content in files(built / "torpor-worker", "arm64"):
        assert not info.mode & 0o6000, info.name
        assert (info.uid, info.gid) == (0, 0)
        assert str(ROOT).encode() not in content, info.name

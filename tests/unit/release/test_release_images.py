"""What the images of a release are built from, and how they are configured."""

import json
import re
import shlex
from typing import Any

import pytest
from torpor_release import debian_packages, release_images
from torpor_release.debian_packages import DebianPackage
from torpor_release.release_images import RUNTIME, TORPOR, WORKER, ReleasedImage
from torpor_release.version import ROOT

ANSWER = f"""\
Reading package lists...
'http://deb.example.org/pool/main/z/zlib/zlib1g_1.2.13.dfsg-1_arm64.deb' zlib1g_1%3a1.2.13.dfsg-1_arm64.deb 82744 SHA256:{"1a" * 32}
'http://deb.example.org/pool/main/d/dpkg/dpkg_1.21.23_arm64.deb' dpkg_1.21.23_arm64.deb 1550216 SHA256:{"2b" * 32}
'http://deb.example.org/pool/main/n/netbase/netbase_6.4_all.deb' netbase_6.4_all.deb 12800 SHA256:{"3c" * 32}
"""  # noqa: E501 - as apt prints it
DOCKERFILES = [
    (TORPOR, "Dockerfile"),
    (WORKER, "worker-image/Dockerfile"),
    (RUNTIME, "worker-image/runtime-tool/Dockerfile"),
]


def configured(dockerfile: str) -> dict[str, Any]:
    """The instructions of the last stage of a Dockerfile that end up in the configuration."""
    last = (ROOT / dockerfile).read_text().replace("\\\n", " ").rpartition("\nFROM ")[2]
    found: dict[str, Any] = {"Env": {}}
    for word, value in re.findall(r"(?m)^(ENV|USER|CMD|ENTRYPOINT|WORKDIR) (.*)$", last):
        match word:
            case "ENV":
                found["Env"] |= dict(pair.split("=", 1) for pair in shlex.split(value))
            case "CMD" | "ENTRYPOINT":
                found[word.capitalize()] = json.loads(value)
            case _:
                found[{"USER": "User", "WORKDIR": "WorkingDir"}[word]] = value
    return found


def test_apt_names_the_packages_and_unneeded_ones_are_left_out() -> None:
    assert debian_packages.parse(ANSWER) == [
        DebianPackage(name="netbase", version="6.4", architecture="all", sha256="3c" * 32),
        DebianPackage(name="zlib1g", version="1:1.2.13.dfsg-1", architecture="arm64", sha256="1a" * 32),
    ]


def test_both_processors_have_the_same_packages_pinned_by_hash() -> None:
    amd64, arm64 = (debian_packages.locked(each) for each in release_images.ARCHITECTURES)
    assert [(each.name, each.version) for each in amd64] == [(each.name, each.version) for each in arm64]
    assert all(re.fullmatch("[0-9a-f]{64}", each.sha256) for each in (*amd64, *arm64))
    assert {"python3.11-minimal", "libc6", "ca-certificates", "dash"} <= {each.name for each in amd64}


def test_no_image_has_a_package_manager_or_perl() -> None:
    names = {each.name for each in debian_packages.locked("amd64")}
    assert names.isdisjoint({"apt", "dpkg", "perl-base", "debconf", "login", "passwd", "sudo", "gcc-12"})


@pytest.mark.parametrize(("image", "dockerfile"), DOCKERFILES, ids=lambda value: getattr(value, "name", ""))
def test_an_image_is_configured_as_its_dockerfile_says(image: ReleasedImage, dockerfile: str) -> None:
    expected = configured(dockerfile)
    environment = dict(pair.split("=", 1) for pair in image.config["Env"])
    for name, value in expected.pop("Env").items():
        assert environment[name] == value or name == "PATH"
    assert {name: image.config.get(name) for name in expected} == expected
    assert image.config["User"] == "65532:65532"
    if "PATH=/opt/torpor/bin" in (ROOT / dockerfile).read_text():
        assert environment["PATH"].startswith("/opt/torpor/bin:")


def test_the_version_of_pip_is_pinned_by_hash() -> None:
    assert re.search(r"pip==[\d.]+ \\\n +--hash=sha256:[0-9a-f]{64}\n", (ROOT / "worker-image/pip.txt").read_text())

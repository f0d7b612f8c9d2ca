"""The manifest of krew, the formula of Homebrew, and the checksums."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from torpor_dev.console import DevError
from torpor_release import packages
from torpor_release.packages import DownloadedFile

URL = "https://downloads.example.org/v0.2.0"


def archives() -> dict[str, DownloadedFile]:
    return {
        name: DownloadedFile(url=f"{URL}/{packages.archive_name(name)}", sha256=f"{number}" * 64)
        for number, name in enumerate(packages.PLATFORMS)
    }


def test_krew_finds_the_archive_of_each_platform() -> None:
    manifest = packages.krew_manifest("0.2.0rc1", archives())
    assert (manifest["metadata"]["name"], manifest["spec"]["version"]) == ("torpor", "v0.2.0-rc.1")
    selected = {
        "-".join(platform["selector"]["matchLabels"].values()): platform["uri"]
        for platform in manifest["spec"]["platforms"]
    }
    assert selected == {name: file.url for name, file in archives().items()}
    assert all({"from": "LICENSE", "to": "."} in platform["files"] for platform in manifest["spec"]["platforms"])
    assert len(manifest["spec"]["shortDescription"]) < 50


def test_the_formula_has_an_archive_and_a_hash_for_each_processor() -> None:
    formula = packages.formula("0.2.0", archives())
    for file in archives().values():
        assert f'url "{file.url}"\n      sha256 "{file.sha256}"' in formula
    assert formula.count("\n  on_") == 2
    assert 'version "0.2.0"' in formula


def test_sha256sum_accepts_the_checksums(tmp_path: Path) -> None:
    for name in packages.PLATFORMS:
        (tmp_path / packages.archive_name(name)).write_text(name)
    written = packages.write(tmp_path, URL)
    assert [path.name for path in written] == ["torpor.yaml", "torpor.rb", "SHA256SUMS"]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path, check=True)
    manifest = json.loads((tmp_path / "torpor.yaml").read_text())
    first = manifest["spec"]["platforms"][0]
    assert first["sha256"] == hashlib.sha256((tmp_path / Path(first["uri"]).name).read_bytes()).hexdigest()


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(DevError, match=r"torpor-linux-amd64\.tar\.gz.*make release-files"):
        packages.write(tmp_path, URL)

"""The files of a release for package managers: SHA256SUMS, the manifest of krew, and the formula of Homebrew.

Both name the archives of the command by address and hash. Must not upload anything.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor_dev.console import DevError

from torpor_release import version

PLATFORMS = ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64")
"""The archives of the command. The Makefile builds them."""
HOME_PAGE = "https://torpor.dev"
_SENTENCE = "Run workflows whose waiting tasks hold no pod"
_DESCRIPTION = """\
Submit, watch, explain and repair Workflows of Torpor, a workflow engine whose waiting tasks hold no pod.
It needs Python 3.11 or later.
"""
_FORMULA = """\
class Torpor < Formula
  desc "{sentence}"
  homepage "{home}"
  version "{version}"
  license "Apache-2.0"

  depends_on "python@3.11"

{systems}

  def install
    bin.install "torpor"
    bin.install_symlink "torpor" => "kubectl-torpor"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/torpor version --client")
  end
end
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadedFile:
    """A file of the release, where it is downloaded, and its hash."""

    url: str
    sha256: str


def archive_name(platform: str) -> str:
    """The name of the archive of the command for a platform."""
    return f"torpor-{platform}.tar.gz"


def krew_manifest(release: str, archives: Mapping[str, DownloadedFile]) -> dict[str, Any]:
    """The manifest of the plugin `torpor` for krew."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "torpor"},
        "spec": {
            "version": f"v{version.semantic(release)}",
            "homepage": HOME_PAGE,
            "shortDescription": _SENTENCE,
            "description": _DESCRIPTION,
            "platforms": [_krew_platform(name, file) for name, file in sorted(archives.items())],
        },
    }


def _krew_platform(name: str, file: DownloadedFile) -> dict[str, Any]:
    system, architecture = name.split("-")
    return {
        "selector": {"matchLabels": {"os": system, "arch": architecture}},
        "uri": file.url,
        "sha256": file.sha256,
        "bin": "torpor",
        "files": [{"from": "torpor", "to": "."}, {"from": "LICENSE", "to": "."}],
    }


def formula(release: str, archives: Mapping[str, DownloadedFile]) -> str:
    """The formula of Homebrew."""
    systems = "\n\n".join(
        f"  on_{name} do\n{_brew_processors(system, archives)}\n  end"
        for name, system in (("macos", "darwin"), ("linux", "linux"))
    )
    return _FORMULA.format(sentence=_SENTENCE, home=HOME_PAGE, version=release, systems=systems)


def _brew_processors(system: str, archives: Mapping[str, DownloadedFile]) -> str:
    blocks = []
    for word, architecture in (("arm", "arm64"), ("intel", "amd64")):
        file = archives[f"{system}-{architecture}"]
        blocks.append(f'    on_{word} do\n      url "{file.url}"\n      sha256 "{file.sha256}"\n    end')
    return "\n".join(blocks)


def checksums(files: Sequence[Path]) -> str:
    """The hashes of files, as `sha256sum --check` reads them."""
    return "".join(f"{_sha256(path)}  {path.name}\n" for path in sorted(files, key=lambda path: path.name))


def write(folder: Path, url: str) -> list[Path]:
    """Write the three files beside the archives in a folder; `url` is where its files are downloaded."""
    archives = {name: folder / archive_name(name) for name in PLATFORMS}
    missing = [path.name for path in archives.values() if not path.exists()]
    if missing:
        raise DevError(f"{folder} has no {', '.join(missing)}; `make release-files` builds them")
    release = version.current()
    downloads = {
        name: DownloadedFile(url=f"{url}/{path.name}", sha256=_sha256(path)) for name, path in archives.items()
    }
    (folder / "torpor.yaml").write_text(json.dumps(krew_manifest(release, downloads), indent=2) + "\n")
    (folder / "torpor.rb").write_text(formula(release, downloads))
    written = [path for path in folder.iterdir() if path.name != "SHA256SUMS"]
    (folder / "SHA256SUMS").write_text(checksums(written))
    return [folder / name for name in ("torpor.yaml", "torpor.rb", "SHA256SUMS")]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

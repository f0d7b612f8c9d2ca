"""The Debian packages of the images, for each processor: which there are, and their files (ADR 0068).

`debian.json` pins each by its hash. apt resolves and downloads them for a foreign processor too, with lists of its own,
so that nothing of this machine changes and nothing is emulated. Scripts of packages do not run.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from torpor_dev import cache, command
from torpor_dev.console import CommandError, DevError, step

LOCK = Path(__file__).with_name("debian.json")
SUITE = "bookworm"
WANTED = ("python3.11", "ca-certificates", "tzdata", "dash", "coreutils", "base-files", "netbase", "libstdc++6")
UNUSED = frozenset({"dpkg", "tar", "debconf", "debianutils", "mawk", "openssl", "libmd0", "readline-common"})
"""What the scripts of packages would need, or what is data of programs that are absent."""
_URI = re.compile(r"'[^']+' (?P<file>\S+) \d+ SHA256:(?P<sha256>[0-9a-f]{64})")
_LIMIT = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class DebianPackage:
    """One package in one version, for one processor or for all."""

    name: str
    version: str
    architecture: str
    sha256: str

    @property
    def purl(self) -> str:
        """The package as a package URL."""
        return f"pkg:deb/debian/{self.name}@{self.version}?arch={self.architecture}&distro={SUITE}"


def locked(architecture: str) -> list[DebianPackage]:
    """The packages of `debian.json` for a processor."""
    return [DebianPackage(**entry) for entry in json.loads(LOCK.read_text())[architecture]]


def write_lock(architectures: Iterable[str]) -> None:
    """Write the newest packages of the suite to `debian.json`."""
    found = {each: [asdict(package) for package in resolve(each)] for each in architectures}
    LOCK.write_text(json.dumps(found, indent=1) + "\n")


def resolve(architecture: str) -> list[DebianPackage]:
    """The newest packages that the images need, by the lists of Debian."""
    with step(f"asking Debian for the packages of {architecture}"):
        _apt(architecture, "update")
        options = ("install", "--print-uris", "--no-install-recommends", "-y", "-o", "Acquire::ForceHash=SHA256")
        answer = _apt(architecture, *options, *WANTED)
    packages = parse(answer)
    if not packages:
        raise DevError(f"apt named no package:\n{answer}")
    return packages


def parse(answer: str) -> list[DebianPackage]:
    """The packages of `apt-get --print-uris`, without those that the images do not need."""
    packages = []
    for match in _URI.finditer(answer):
        name, version, architecture = match["file"].removesuffix(".deb").split("_")
        if name not in UNUSED:
            version = version.replace("%3a", ":")
            packages.append(
                DebianPackage(name=name, version=version, architecture=architecture, sha256=match["sha256"])
            )
    return sorted(packages, key=lambda package: package.name)


def fetch(packages: Sequence[DebianPackage], architecture: str) -> list[Path]:
    """The files of these packages. Raises DevError if Debian has another version by now, or another content."""
    folder = cache.folder("debian-packages")
    with cache.lock(folder / "lock"):
        missing = [package for package in packages if not _file(package).exists()]
        if missing:
            with step(f"fetching {len(missing)} Debian packages of {architecture}"):
                _download(missing, architecture, folder)
    return [_file(package) for package in packages]


def _download(packages: Sequence[DebianPackage], architecture: str, folder: Path) -> None:
    _apt(architecture, "update")
    try:
        _apt(architecture, "download", *(f"{each.name}={each.version}" for each in packages), cwd=folder)
    except CommandError as error:
        raise DevError(
            f"Debian no longer has a package of {LOCK.name} in this version; `make release-lock` takes the newest. "
            f"snapshot.debian.org has the old ones.\n{error}"
        ) from error
    for package in packages:
        escaped = package.version.replace(":", "%3a")
        file = folder / f"{package.name}_{escaped}_{package.architecture}.deb"
        actual = hashlib.sha256(file.read_bytes()).hexdigest()
        if actual != package.sha256:
            raise DevError(f"{file.name} has the hash {actual}, and {LOCK.name} has {package.sha256}")
        file.rename(_file(package))


def _file(package: DebianPackage) -> Path:
    return cache.folder("debian-packages") / f"{package.sha256}.deb"


def _apt(architecture: str, *words: str, cwd: Path | None = None) -> str:
    """Run apt-get for a processor, with lists of its own and with no package installed."""
    folder = cache.folder("apt", architecture)
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    options = [
        f"APT::Architecture={architecture}",
        f"APT::Architectures={architecture}",
        f"APT::Architectures::={architecture}",
        f"Dir::State::lists={folder / 'lists'}",
        f"Dir::Cache::archives={folder / 'archives'}",
        f"Dir::State::status={folder / 'status'}",
        "Dir::Cache::pkgcache=",
        "Dir::Cache::srcpkgcache=",
        "Debug::NoLocking=1",
        "APT::Sandbox::User=root",
    ]
    given = [word for option in options for word in ("-o", option)]
    return command.run("apt-get", "-q", *given, *words, limit=_LIMIT, cwd=cwd)

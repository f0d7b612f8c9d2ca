"""The version of Torpor: pyproject.toml of the repository has it, and other files repeat it.

`make version VERSION=0.2.0` writes all of them; a test compares them. Must not import third-party packages: a workflow
reads the version before any environment exists.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torpor_dev.console import DevError

ROOT = Path(__file__).resolve().parents[2]
_VALID = re.compile(r"\d+\.\d+\.\d+(?:\.dev\d+|rc\d+)?")
_PROJECT = re.compile(r'(?m)^version = "(?P<version>[^"]+)"$')
_LOCKED = re.compile(
    r'(?m)^version = "(?P<version>[^"]+)"\nsource = \{ (?:editable|virtual) = "(?!examples/)[^"]*" \}$'
)
_WHEEL = re.compile(r"kubectl_torpor-(?P<version>[^-*]+)-py3-none-any\.whl")
_SEMANTIC = (("dev", re.compile(r"\.dev")), ("rc", re.compile(r"(?<=\d)rc")))


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedFile:
    """A file that repeats the version, and how it stands there."""

    path: Path
    pattern: re.Pattern[str]

    def versions(self) -> set[str]:
        """The versions that the file has now."""
        return {match["version"] for match in self.pattern.finditer(self.path.read_text())}

    def rewritten(self, version: str) -> str:
        """The text of the file with another version."""
        return self.pattern.sub(lambda match: _replaced(match, version), self.path.read_text())


def current(root: Path = ROOT) -> str:
    """The version of this checkout."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    version: str = project["project"]["version"]
    return version


def project_name(folder: Path) -> str:
    """The name of the distribution in a folder."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    name: str = project["project"]["name"]
    return name


def semantic(version: str) -> str:
    """A version of Python as a semantic version, for krew: 0.2.0.dev0 is 0.2.0-dev.0."""
    for word, pattern in _SEMANTIC:
        version = pattern.sub(f"-{word}.", version)
    return version


def files(root: Path = ROOT) -> Sequence[VersionedFile]:
    """Every file that repeats the version. Examples have versions of their own; a chart gets it when it is packaged."""
    projects = [root / "pyproject.toml", root / "cli/packaging/pyproject.toml"]
    projects += [root / "airflow-bridge/providers/pyproject.toml"]
    projects += sorted({*root.glob("*/pyproject.toml"), *root.glob("libraries/*/pyproject.toml")})
    pages = [page for page in sorted((root / "docs").rglob("*.md")) if _WHEEL.search(page.read_text())]
    return [
        *(VersionedFile(path=path, pattern=_PROJECT) for path in projects),
        VersionedFile(path=root / "uv.lock", pattern=_LOCKED),
        VersionedFile(path=root / "airflow-bridge/uv.lock", pattern=_LOCKED),
        VersionedFile(path=root / "airflow-bridge/providers/uv.lock", pattern=_LOCKED),
        *(VersionedFile(path=page, pattern=_WHEEL) for page in pages),
    ]


def set_version(version: str, root: Path = ROOT) -> list[Path]:
    """Write a version into every file; return those that changed. Raises DevError for one that no release has."""
    if not _VALID.fullmatch(version):
        raise DevError(f"VERSION is {version!r}; it must be a version such as 0.2.0, 0.2.0rc1 or 0.2.0.dev0")
    changed = [file for file in files(root) if file.versions() != {version}]
    for file in changed:
        file.path.write_text(file.rewritten(version))
    return [file.path for file in changed]


def check_tag(tag: str, root: Path = ROOT) -> None:
    """Raise DevError unless a tag names the version of this checkout, and the changelog has a section for it."""
    version = current(root)
    if tag != f"v{version}":
        raise DevError(f"the tag is {tag}, and the version of this commit is {version}; `make version` writes it")
    if f"## [{version}] - " not in (root / "CHANGELOG.md").read_text():
        raise DevError(f"CHANGELOG.md has no section [{version}] with a date")


def _replaced(match: re.Match[str], version: str) -> str:
    start, end = (position - match.start() for position in match.span("version"))
    return match[0][:start] + version + match[0][end:]

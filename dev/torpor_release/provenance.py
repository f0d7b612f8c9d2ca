"""What an image was built from and by what: the predicate of SLSA provenance v1, which cosign signs (ADR 0068).

Pure: what is known of the build comes in as arguments.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUILD_TYPE = "https://torpor.dev/release/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
_MATERIALS = (
    "uv.lock",
    "dev/uv.txt",
    "dev/torpor_release/debian.json",
    "worker-image/pip.txt",
    "worker-image/runtime-tool/go.mod",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFacts:
    """One build: the commit, the version, the image, the builder, and the tools whose version changes the bytes."""

    source: str
    revision: str
    version: str
    image: str
    builder: str
    invocation: str
    tools: Mapping[str, str]


def predicate(facts: BuildFacts, materials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The predicate of one image."""
    commit = {"uri": f"git+{facts.source}", "digest": {"gitCommit": facts.revision}}
    return {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {"source": facts.source, "revision": facts.revision, "image": facts.image},
            "internalParameters": {"version": facts.version, "tools": dict(facts.tools)},
            "resolvedDependencies": [commit, *materials],
        },
        "runDetails": {
            "builder": {"id": facts.builder},
            "metadata": {"invocationId": facts.invocation} if facts.invocation else {},
        },
    }


def locks(root: Path) -> list[dict[str, Any]]:
    """The files that pin everything that the images contain, by their hashes."""
    return [{"name": name, "digest": {"sha256": _sha256(root / name)}} for name in _MATERIALS]


def digest_of_index(layout: Path) -> str:
    """The digest of the image in an OCI layout."""
    digest: str = json.loads((layout / "index.json").read_text())["manifests"][0]["digest"]
    return digest


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

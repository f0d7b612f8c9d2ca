"""Compares two builds of one commit: the same images, and the same files, to the byte.

What differs is either not reproducible, or one of the two machines is not to be trusted.
"""

import hashlib
import json
from pathlib import Path


def differences(first: Path, second: Path) -> list[str]:
    """One line for each image or file that only one build has, or that differs."""
    ours, theirs = _hashes(first), _hashes(second)
    return [
        f"{name}: {ours.get(name, 'absent')} and {theirs.get(name, 'absent')}"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]


def _hashes(build: Path) -> dict[str, str]:
    """The digest of each image, and the hash of each file of a release."""
    images: dict[str, str] = json.loads((build / "images/digests.json").read_text())
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (build / "files").iterdir()}
    described = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in build.glob("*.cdx.json")}
    return images | files | described

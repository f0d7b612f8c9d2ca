"""What an image contains, as CycloneDX: Debian packages, packages from PyPI with hashes, and Torpor's own.

Pure: the components from PyPI come from uv, which reads them from the lock. The same image gives the same text.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from torpor_release.debian_packages import DebianPackage

_NAMESPACE = uuid.UUID("5b2c6a0e-6f0d-4c3c-9c0e-2f6f7d7c1a11")


def document(
    name: str, version: str, digest: str, epoch: int, components: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The document of one image. Its serial number and time follow from the image, so that it is reproducible."""
    subject = {
        "type": "container",
        "bom-ref": name,
        "name": name,
        "version": version,
        "purl": f"pkg:oci/{name}@{digest.replace(':', '%3A')}",
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, f'{name}@{digest}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat().replace("+00:00", "Z"),
            "component": subject,
        },
        "components": list(components),
    }


def from_debian(packages: Mapping[str, Sequence[DebianPackage]]) -> list[dict[str, Any]]:
    """The Debian packages of every processor, each once."""
    unique = {package.purl: package for listed in packages.values() for package in listed}
    return [
        {
            "type": "library",
            "bom-ref": purl,
            "name": package.name,
            "version": package.version,
            "purl": purl,
            "hashes": [{"alg": "SHA-256", "content": package.sha256}],
        }
        for purl, package in sorted(unique.items())
    ]


def from_uv(exported: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The components of uv's export, Torpor's packages included, in the order of their names."""
    components = [dict(component) for component in exported.get("components", [])]
    return sorted(components, key=lambda component: (component["name"], component.get("version", "")))

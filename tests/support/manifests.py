"""Builds the JSON of objects of Torpor's API, as a user applies them."""

from collections.abc import Mapping
from typing import Any

from torpor_wire import constants


def manifest(kind: str, name: str, spec: Mapping[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return an object. `metadata` are its other metadata."""
    metadata = {"name": name, **metadata}
    return {"apiVersion": constants.API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}

"""The CRD and the admission policies that this command checks with: those it was built with, or those of a checkout."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

_CHECKOUT = Path(__file__).resolve().parents[3]
_CRD = "crds/workflows.torpor.dev.yaml"
_POLICIES = tuple(f"manifests/base/policies/{name}.yaml" for name in ("workflow", "bounds", "clear"))
"""The policies that concern a new Workflow."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def crd() -> dict[str, Any]:
    """Return the CustomResourceDefinition of Workflow."""
    (document,) = _documents(_CRD)
    return document


@cache
def schema() -> dict[str, Any]:
    """Return the OpenAPI schema of Workflow."""
    found: dict[str, Any] = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@cache
def policies() -> tuple[dict[str, Any], ...]:
    """Return the ValidatingAdmissionPolicies."""
    documents = (one for path in _POLICIES for one in _documents(path))
    return tuple(one for one in documents if one["kind"] == "ValidatingAdmissionPolicy")


def _documents(path: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(_text(path), Loader=_LOADER))


def _text(path: str) -> str:
    bundled = resources.files("kubectl_torpor.linting").joinpath("rules", Path(path).name)
    return bundled.read_text() if bundled.is_file() else (_CHECKOUT / path).read_text()

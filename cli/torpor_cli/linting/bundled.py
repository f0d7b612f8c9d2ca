"""The CRDs and the admission policies that this command knows: those it was built with, or those of a checkout."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

_CHECKOUT = Path(__file__).resolve().parents[3]
_BUNDLED = resources.files("torpor_cli.linting").joinpath("rules")
_CRDS, _POLICIES = "crds", "manifests/base/policies"
_OF_NEW_OBJECTS = frozenset(
    f"torpor-{name}"
    for name in (
        "workflow",
        "bounds",
        "clear",
        "origin",
        "template",
        "schedule",
        "timezone",
        "backfill",
        "cron-warning",
    )
)
_WARNING = "-warning"
"""The end of the name of a policy that rejects nothing."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def schema(plural: str = "workflows") -> dict[str, Any]:
    """Return the OpenAPI schema of a kind."""
    (crd,) = _documents(f"{_CRDS}/{plural}.torpor.dev.yaml")
    openapi: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return openapi


@cache
def policies() -> tuple[dict[str, Any], ...]:
    """Return all ValidatingAdmissionPolicies, by name."""
    folder = _BUNDLED if _BUNDLED.is_dir() else _CHECKOUT / _POLICIES
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml"))
    documents = (document for name in names for document in _documents(f"{_POLICIES}/{name}"))
    return tuple(document for document in documents if document["kind"] == "ValidatingAdmissionPolicy")


@cache
def creation_policies(plural: str = "workflows") -> tuple[dict[str, Any], ...]:
    """Return the policies that concern a new object of a kind and can be evaluated without a cluster."""
    return tuple(
        policy for policy in policies() if policy["metadata"]["name"] in _OF_NEW_OBJECTS and _concerns(policy, plural)
    )


def action(policy: str) -> str:
    """Return the validation action with which a policy is bound."""
    return "Warn" if policy.endswith(_WARNING) else "Deny"


def bound_policies() -> tuple[tuple[dict[str, Any], str], ...]:
    """Return all policies, each with its validation action."""
    return tuple((policy, action(policy["metadata"]["name"])) for policy in policies())


def _concerns(policy: dict[str, Any], plural: str) -> bool:
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    return any(plural in rule["resources"] and "CREATE" in rule["operations"] for rule in rules)


def _documents(path: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(_text(path), Loader=_LOADER))


def _text(path: str) -> str:
    bundled = _BUNDLED.joinpath(Path(path).name)
    return bundled.read_text() if bundled.is_file() else (_CHECKOUT / path).read_text()

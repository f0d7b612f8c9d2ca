"""What objects of the API server say about a namespace, and about a template that cannot be read. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from torpor_wire import constants

from torpor_operator.model.snapshot import NamespaceFacts

_PROBLEMS = 3
"""Problems of an unreadable template that are reported."""


def namespace_facts(metadata: Mapping[str, Any]) -> NamespaceFacts:
    """What a run has to know of its namespace."""
    level = str((metadata.get("labels") or {}).get(constants.POD_SECURITY_LABEL) or "")
    defaults = str((metadata.get("annotations") or {}).get(constants.DEFAULTS_ANNOTATION) or "")
    labels = {str(name): str(value) for name, value in (metadata.get("labels") or {}).items()}
    return NamespaceFacts(level=level, defaults=defaults, labels=labels)


def config_map_data(stored: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The entries of a ConfigMap; of one entry so much that its reader sees if it is longer than a manifest."""
    data = dict(stored.get("data") or {})
    return {name: text[: constants.MANIFEST_MAX + 1] for name, text in data.items() if name == key} if key else data


def first_problems(error: ValidationError) -> Iterator[str]:
    """The first problems of an object that does not fit its model, each with its field."""
    for problem in error.errors(include_url=False, include_input=False)[:_PROBLEMS]:
        yield f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"

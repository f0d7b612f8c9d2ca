"""Whether a ClusterWorkflowTemplate allows a namespace: by its name, or by its labels. Pure."""

from collections.abc import Mapping

from torpor_crds.models.template import AllowedNamespaces, LabelRequirement, NamespaceSelector
from torpor_wire.enums import LabelOperator


def is_allowed(allowed: AllowedNamespaces, namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether the namespace has one of the names, or labels that are selected."""
    if namespace in allowed.names:
        return True
    return allowed.selector is not None and _selects(allowed.selector, labels)


def _selects(selector: NamespaceSelector, labels: Mapping[str, str]) -> bool:
    has_labels = all(labels.get(name) == value for name, value in selector.match_labels.items())
    return has_labels and all(_holds(requirement, labels) for requirement in selector.match_expressions)


def _holds(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case LabelOperator.IN:
            return value in requirement.values
        case LabelOperator.NOT_IN:
            return value not in requirement.values
        case LabelOperator.EXISTS:
            return value is not None
        case LabelOperator.DOES_NOT_EXIST:
            return value is None

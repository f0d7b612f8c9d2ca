"""Label and field selectors, for the forms that are in use."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

METADATA = frozenset({"metadata.name", "metadata.namespace"})
SELECTABLE = {
    "taskruns": METADATA | {"spec.triggerPool", "status.state", "status.trigger.shard"},
    "events": METADATA | {"regarding.uid", "regarding.name", "regarding.apiVersion", "reason", "type"},
    "pods": METADATA | {"spec.nodeName", "status.phase"},
}
_COMMA = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"^(?P<key>\S+)\s+(?P<not>not)?in\s*\((?P<values>[^)]*)\)$")


class SelectorError(Exception):
    """A field that the kind does not declare as selectable."""


class ListQuery(NamedTuple):
    """What a list or watch asks for; an empty namespace is all of them."""

    namespace: str
    fields: str
    labels: str

    def check(self, plural: str) -> None:
        """Raise SelectorError if a kind does not declare a selected field."""
        for term in _terms(self.fields):
            name = re.split("!?=", term)[0]
            if name not in SELECTABLE.get(plural, METADATA):
                raise SelectorError(f"field label not supported: {name}")

    def matches(self, item: Mapping[str, Any]) -> bool:
        """Return whether an object is selected."""
        meta = item["metadata"]
        if self.namespace and meta.get("namespace") != self.namespace:
            return False
        labels = meta.get("labels") or {}
        return all(_field(term, item) for term in _terms(self.fields)) and all(
            _label(term, labels) for term in _terms(self.labels)
        )


@cache
def _terms(selector: str) -> list[str]:
    return [term.strip() for term in _COMMA.split(selector) if term.strip()]


def _field(term: str, item: Mapping[str, Any]) -> bool:
    name, differs, wanted = _split(term)
    value: Any = item
    for word in name.split("."):
        value = value.get(word) if isinstance(value, Mapping) else None
    return (("" if value is None else str(value)) == wanted) is not differs


def _label(term: str, labels: Mapping[str, str]) -> bool:
    if among := _SET.match(term):
        values = {value.strip() for value in among["values"].split(",")}
        return (labels.get(among["key"]) in values) is not bool(among["not"])
    if "=" not in term:
        return term.lstrip("!") not in labels if term.startswith("!") else term in labels
    name, differs, wanted = _split(term)
    return (labels.get(name) == wanted) is not differs


@cache
def _split(term: str) -> tuple[str, bool, str]:
    name, operator, wanted = re.split("(!=|==|=)", term, maxsplit=1)
    return name.strip(), operator == "!=", wanted.strip()

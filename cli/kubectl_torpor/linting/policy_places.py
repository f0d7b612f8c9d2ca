"""The field of an object that a validation of an admission policy concerns. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_torpor.linting.finding import Path

FIELDS: Mapping[str, Path] = {
    "invalidParams": ("spec", "params"),
    "booleanParams": ("spec", "params"),
    "invalidArgs": ("args",),
    "booleanArgs": ("args",),
    "reservedHeaders": ("trigger", "kwargs", "headers"),
    "invalidExpand": ("expand",),
    "invalidExpandKwargs": ("expandKwargs",),
    "emptyExpand": ("expand",),
    "mappedTwice": ("expandKwargs",),
    "invalidMaxActive": ("maxActive",),
    "mappedBranches": ("branch",),
    "duplicateArgs": ("expand",),
    "duplicateNames": ("name",),
    "unknownGroups": ("group",),
    "unknownParents": ("in",),
    "cyclicGroups": ("in",),
    "deepGroups": ("in",),
    "groupedHooks": ("hook",),
    "mapFunctions": ("expand",),
    "unknownAfter": ("after",),
    "afterOwnGroup": ("after",),
    "triggerArgs": ("args",),
    "tooDeep": ("spec",),
}
"""The field that each variable of the policies concerns: of a task or group, or from the root."""
SOURCE_FIELDS: Mapping[str, Path] = {
    **dict.fromkeys(("invalidCount", "invalidFields", "reversedRanges"), ("cron",)),
    "invalidCursors": ("cursor",),
    **dict.fromkeys(
        ("cursorArguments", "booleanArguments", "invalidArguments", "expressionArguments"), ("trigger", "kwargs")
    ),
    "reservedHeaders": ("trigger", "kwargs", "headers"),
    "unknown": ("timezone",),
}
"""The field of a Schedule's source that each variable concerns."""
_IN_WORKFLOW = ("workflowtemplates", "schedules")
"""Resources with the spec of a Workflow in `spec.workflow`."""
_OF_ANNOTATIONS = "torpor-clear"
_SOURCE = re.compile(r"source (\w+): ")
_PARAM = re.compile(r"param (\w+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The object that a policy rejects."""

    policy: str
    plural: str
    written: Mapping[str, Any]

    def path(self, name: str, item: Any, message: str) -> Path:
        """Return the path of an item of a variable: a task, a group, a source, or the name of a group or param.

        A source and a param of a template are found by their names in the message.
        """
        spec = self.written["spec"]
        if not name or name == "fieldsOfTemplate":
            field = (item,) if isinstance(item, str) else ()
            return ("metadata", "annotations") if self.policy == _OF_ANNOTATIONS else ("spec", *field)
        if name in SOURCE_FIELDS:
            return _named(spec, "sources", _SOURCE.match(message), SOURCE_FIELDS[name])
        if self.plural == "workflowtemplates" and name in {"problems", "booleanNames"}:
            return _named(spec, "params", _PARAM.match(message), ())
        inner = spec.get("workflow") if self.plural in _IN_WORKFLOW else spec
        root: Path = ("spec", "workflow") if self.plural in _IN_WORKFLOW and inner else ("spec",)
        fields = FIELDS.get(name, ())
        if fields[:1] == ("spec",):
            return self._of_param((*root, *fields[1:]), item)
        return _of_task(inner or {}, root, item, fields)

    def _of_param(self, fields: Path, item: Any) -> Path:
        """Return the path of a param of the workflow, or of the Schedule itself."""
        if not isinstance(item, str):
            return fields
        own = self.written["spec"].get("params")
        return ("spec", "params", item) if isinstance(own, dict) and item in own else (*fields, item)


def _of_task(inner: Mapping[str, Any], root: Path, item: Any, fields: Path) -> Path:
    for kind in ("tasks", "groups"):
        for index, one in enumerate(inner.get(kind, ())):
            if one is item or (isinstance(item, str) and kind == "groups" and one["name"] == item):
                return (*root, kind, index, *fields)
    return root


def _named(spec: Mapping[str, Any], kind: str, found: re.Match[str] | None, fields: Path) -> Path:
    """Return the path of the entry of a list whose name a message has."""
    entries = enumerate(spec.get(kind) or ())
    index = next((index for index, one in entries if found is not None and one.get("name") == found[1]), None)
    return ("spec", kind) if index is None else ("spec", kind, index, *fields)

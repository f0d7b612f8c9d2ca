"""The field of an object that a validation of an admission policy concerns. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor_cli.linting.finding import Path

SOURCE_FIELDS: Mapping[str, Path] = {
    **dict.fromkeys(
        ("invalidCount", "invalidFields", "reversedRanges", "impossibleDays", "ambiguousSources"), ("cron",)
    ),
    "invalidCursors": ("cursor",),
    **dict.fromkeys(
        ("cursorArguments", "booleanArguments", "invalidArguments", "expressionArguments"), ("trigger", "kwargs")
    ),
    "reservedHeaders": ("trigger", "kwargs", "headers"),
    "ambiguousTriggers": ("trigger", "kwargs", "expression"),
    "unknown": ("timezone",),
}
"""The field of a Schedule's source that each variable concerns."""
PARAM_VARIABLES = frozenset({"invalidParams", "booleanParams"})
"""The variables of `torpor-backfill` with names of params."""
_TOO_DEEP = "tooDeep"
"""The variable of `torpor-bounds`, which concerns the whole spec."""
_IN_WORKFLOW = ("workflowtemplates", "schedules")
"""Resources with the spec of a Workflow in `spec.workflow`."""
_OF_ANNOTATIONS, _OF_TEMPLATES = ("torpor-clear", "torpor-mark"), "torpor-template"
_SOURCE = re.compile(r"source (\w+): ")
_PARAM = re.compile(r"param (\w+)\b")
_QUOTED_PARAM = re.compile(r'param "(.*?)" ')
_TASK = re.compile(r"task (\w+)\b")
_GROUP = re.compile(r"group (\w+)\b|(\w+) is the name of a task and of a group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The object that a policy rejects."""

    policy: str
    plural: str
    written: Mapping[str, Any]

    def path(self, name: str, item: Any, message: str) -> Path:
        """Return the path of an item of a variable: a field with its sentence, or the name of a field.

        A task, a group, a source and a param are found by their names in the message.
        """
        spec = self.written["spec"]
        if not name or name == "fieldsOfTemplate":
            field = (item,) if isinstance(item, str) else ()
            return ("metadata", "annotations") if self.policy in _OF_ANNOTATIONS else ("spec", *field)
        if name in SOURCE_FIELDS:
            return _named(spec, "sources", _SOURCE.match(message), SOURCE_FIELDS[name])
        if self.plural == "workflowtemplates" and self.policy == _OF_TEMPLATES:
            return _named(spec, "params", _PARAM.match(message), ())
        embedded = self.plural in _IN_WORKFLOW and "workflow" in spec
        root: Path = ("spec", "workflow") if embedded else ("spec",)
        if name == _TOO_DEEP:
            return root
        if name in PARAM_VARIABLES:
            return ("spec", "params", *((item,) if isinstance(item, str) else ()))
        return self._of_workflow(root, spec["workflow"] if embedded else spec, item[0], message)

    def _of_workflow(self, root: Path, inner: Mapping[str, Any], field: str, message: str) -> Path:
        """Return the path of a field of the workflow, of a task or group in it, or of a param of the Schedule."""
        fields = tuple(filter(None, field.split(".")))
        if field == "params":
            given, own = _QUOTED_PARAM.match(message), self.written["spec"].get("params")
            name = (given[1],) if given else ()
            return (*(("spec",) if isinstance(own, dict) and {*name} & {*own} else root), *fields, *name)
        for kind, pattern in (("tasks", _TASK), ("groups", _GROUP)):
            found = pattern.match(message)
            names = [one["name"] for one in inner.get(kind, ())]
            if found is not None and found[found.lastindex or 1] in names:
                return (*root, kind, names.index(found[found.lastindex or 1]), *fields)
        return (*root, *fields)


def _named(spec: Mapping[str, Any], kind: str, found: re.Match[str] | None, fields: Path) -> Path:
    """Return the path of the entry of a list whose name a message has."""
    entries = enumerate(spec.get(kind) or ())
    index = next((index for index, one in entries if found is not None and one.get("name") == found[1]), None)
    return ("spec", kind) if index is None else ("spec", kind, index, *fields)

"""Names what an expression with an error probably means: habits of shells, Python, Argo and Tekton. Pure."""

import re
from collections.abc import Collection

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NAMES = {
    "item": "mapping.value",
    "inputs": "params",
    "workflow": "run",
    "pipelineRun": "run",
    "context": "run",
    "steps": "tasks",
}
"""What Argo and Tekton call a root, and what Torpor has for it."""
_OF_OTHER_FIELDS = frozenset(
    {"event", "groups", "mapping", "object", "params", "response", "row", "rows", "run", "tasks", "variables"}
)
"""Names that some fields know. No one means a text by them."""
_SYNTAX = (
    (re.compile(r"\$\{|\{\{"), "write the expression without braces around it"),
    (re.compile(r"\b(?:and|or|not)\b"), "write && for and, || for or, and ! for not"),
    (re.compile(r"(?<![=!<>])=(?![=~])"), "write == to compare"),
)


def of_syntax(expression: str) -> str:
    """Return what to write instead of an expression that the grammar refuses, or nothing."""
    bare = _QUOTED.sub("''", expression)
    return next((f"; {hint}" for pattern, hint in _SYNTAX if pattern.search(bare)), "")


def of_name(name: str, roots: Collection[str], *, alone: bool) -> str:
    """Return what an unknown name probably is. `alone`: the expression is this name with fields, and no more."""
    meant = _NAMES.get(name, "")
    if meant.partition(".")[0] in roots:
        return f"; write {meant}"
    return "" if alone or name in _OF_OTHER_FIELDS else "; if it is a text, put it in quotes"

"""The problems of a run's graph, found by the operator's own check. Pure.

The operator reports the first problem. Here each one is replaced by something valid, and the check runs again.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from torpor_crds.models import workflow as models
from torpor_operator.graph import dag
from torpor_operator.notifications import messages
from torpor_wire.reason import Reason

from torpor_cli.linting import default_fields, repair
from torpor_cli.linting.finding import LintProblem, LintRule, Path

_PROBLEMS_MAX = 100
_SUBJECT = re.compile(r"(task|group) (\w+)(?:: |\b)(.*)", re.DOTALL)
_CYCLE = re.compile(r"(?:the tasks form a cycle|groups contain each other): (\w+)")
_FIELD = re.compile(
    r"(?P<after>after): (?P<entry>\w+)"
    r"|(?P<kind>args|trigger|run\.params|http|pod\.env|container\.env)(?:: |\.)(?P<name>[^:]+):"
    r"|expand (?P<expand>\w+):|files\.(?P<files>in|out) (?P<file>\w+): (?P<path>path)?"
    r"|(?P<pod>(?:pod|container\.steps)[.\[][^:]+):"
    r"|(?P<field>when|expandKwargs|displayName|image|container\.(?:command|args|script|interpreter|result)|object\.(?:manifest|until|failWhen|result)|result|failWhen"
    r"|retries\.when):"
)
_RESULT = ("spec: result: ", "spec.result ")
_WORD = re.compile(r"container\.(?:command|args): \[(\d+)\]")
_VALID: Mapping[str, Any] = {
    "when": "true",
    "expandKwargs": [{}],
    "displayName": "x",
    "container.command": ["x"],
    "container.args": ["x"],
    "container.script": "x",
    "container.interpreter": ["x"],
    "container.result": "stdout",
    "object.manifest": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
    "object.until": "true",
    "object.failWhen": "false",
    "object.result": "object",
    "image": "x",
    "result": "event",
    "failWhen": "false",
    "retries.when": "true",
    "http.url": "http://x/",
    "http.headers": {},
    "http.body": "x",
    "http.json": "x",
    "http.success": [200],
}
_HOLDERS: Mapping[str, Path] = {
    "args": ("args",),
    "trigger": ("trigger", "kwargs"),
    "run.params": ("run", "params"),
    "http": ("http",),
}
"""Where a named value is, by the field in a message."""
_VALID_DEFAULTS = {"image": "x", "when": "true"}


def problems(written: Mapping[str, Any]) -> Iterator[LintProblem]:
    """Yield the problems of the graph, without those of tasks that the schema does not admit."""
    repaired = repair.repair(written["spec"])
    if repaired is None:
        return
    yield from _of_notifications(repaired.spec)
    document = copy.deepcopy({"spec": repaired.spec})
    for _ in range(_PROBLEMS_MAX):
        try:
            spec = models.parse({"metadata": {"name": "run"}, "spec": document["spec"]}).spec
        except ValidationError:
            return
        problem = dag.build(spec)
        if isinstance(problem, dag.Graph):
            return
        complete = default_fields.with_defaults(document["spec"], spec)
        path = default_fields.written_path(locate(problem.message, complete), complete, document["spec"])
        rule = LintRule.GRAPH if problem.reason == Reason.WORKFLOW_INVALID else LintRule.EXPRESSION
        if not repaired.concerns(problem.message):
            yield LintProblem(path=path, rule=rule, message=problem.message)
        if not _replace_with_valid(document, path, _word(problem.message)):
            return


def _of_notifications(spec: Mapping[str, Any]) -> Iterator[LintProblem]:
    """Yield the templates of notifications that cannot be evaluated: those messages would have Torpor's text."""
    defaults = spec.get("defaults")
    places: list[tuple[Path, Any]] = [(("spec", "notify"), spec.get("notify"))]
    places += [(("spec", "defaults", "notify"), defaults.get("notify") if isinstance(defaults, Mapping) else None)]
    for path, entries in places:
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            for field in ("title", "text"):
                written = entry.get(field) if isinstance(entry, Mapping) else None
                if isinstance(written, str) and (wrong := messages.problem(written)) is not None:
                    where = f"notify {entry.get('name')}: {field}: {wrong.message}"
                    yield LintProblem(path=(*path, number, field), rule=LintRule.EXPRESSION, message=where)


def locate(message: str, spec: Mapping[str, Any]) -> Path:
    """Return the field that a message of the operator names."""
    if cycle := _CYCLE.match(message):
        for kind, field in (("tasks", "after"), ("groups", "in")):
            if (owner := _named(spec, kind, cycle[1])) is not None:
                return (*owner[0], field)
    subject = _SUBJECT.match(message)
    if subject is None:
        return ("spec", "result") if message.startswith(_RESULT) else ("spec",)
    kind, name, rest = subject.groups()
    owner = _named(spec, f"{kind}s", name)
    return (*owner[0], *_field(rest, owner[1])) if owner else ("spec",)


def _named(spec: Mapping[str, Any], kind: str, name: str) -> tuple[Path, Mapping[str, Any]] | None:
    each = enumerate(spec.get(kind) or ())
    return next(((("spec", kind, index), owner) for index, owner in each if owner.get("name") == name), None)


def _field(rest: str, owner: Mapping[str, Any]) -> Path:
    field = _FIELD.match(rest)
    if field is None:
        return next((path for start, path in _OTHERS if rest.startswith(start)), ("name",))
    if field["after"]:
        return ("after", owner["after"].index(field["entry"]))
    if field["expand"]:
        entries = enumerate(owner["expand"])
        return ("expand", next(index for index, entry in entries if entry["name"] == field["expand"]), "over")
    if field["file"]:
        entries = enumerate(owner["files"][field["files"]])
        index = next(index for index, entry in entries if entry["name"] == field["file"])
        return ("files", field["files"], index, field["path"] or "from")
    if field["pod"]:
        return _pod_path(field["pod"], owner)
    match field["kind"]:
        case str() as kind if kind in _HOLDERS:
            return (*_HOLDERS[kind], field["name"])
        case "pod.env" | "container.env" as kind:
            holder = kind.partition(".")[0]
            entries = enumerate(owner[holder]["env"])
            return (holder, "env", next(index for index, entry in entries if entry["name"] == field["name"]), "value")
        case _:
            return tuple(field["field"].split("."))


def _pod_path(field: str, owner: Mapping[str, Any]) -> Path:
    """Return the path of a field of `pod` or a step, whose keys may have dots: the longest prefix of it that exists."""
    first = re.split(r"[.\[]", field)[0]
    value: Any = owner.get(first)
    path: list[str | int] = [first]
    rest = field.removeprefix(first)
    while rest and value is not None:
        if isinstance(value, list):
            number, _, rest = rest.removeprefix("[").partition("]")
            key: str | int = int(number)
        else:
            known = [name for name in value if rest.startswith(f".{name}")]
            if not known:
                break
            longest = max(known, key=len)
            key, rest = longest, rest[len(longest) + 1 :]
        path.append(key)
        value = value[key]
    return tuple(path)


_OTHERS: tuple[tuple[str, Path], ...] = (
    (" comes after", ("after",)),
    (" maps over", ("expand",)),
    ("unknown group", ("group",)),
    (" is a hook", ("hook",)),
)


def _word(message: str) -> int | None:
    """Return the index of the word of a command that a message names."""
    word = _WORD.search(message)
    return int(word[1]) if word else None


def _replace_with_valid(document: dict[str, Any], path: Path, word: int | None = None) -> bool:
    """Replace the field, or one word of a command, with a valid value. Return whether there is one."""
    if path[-3:-2] == ("volumeMounts",):  # no name is valid without a volume
        path = path[:-1]
    owner: Any = document
    for part in path[:-1]:
        owner = owner[part]
    if path[1:2] in {("defaults",), ("image",)}:
        owner[path[-1]] = _VALID_DEFAULTS.get(str(path[-1]), "1")
        return True
    return _replace_in_task(owner, path, word)


def _replace_in_task(owner: Any, path: Path, word: int | None) -> bool:
    """Replace a field of a task or a group, whose last part is in `owner`."""
    match path:
        case ("spec", _, _, "after", int() as index) | ("spec", _, _, "pod", *_, "volumeMounts", int() as index):
            del owner[index]
        case ("spec", _, _, "expand", _, "over"):
            owner["over"] = [1]
        case ("spec", _, _, "files", _, _, "from" | "path" as field):
            owner[field] = {"from": {"text": "x"}, "path": f"/x/{owner['name']}"}[field]
        case ("spec", _, _, "args", str() as name) | ("spec", _, _, _, "kwargs" | "params", str() as name):
            owner[name] = "x"
        case ("spec", _, _, "pod" | "container", "env", _, "value"):
            owner["value"] = "x"
        case ("spec", "result") | ("spec", _, _, "pod" | "container", _, *_) if isinstance(owner[path[-1]], str):
            owner[path[-1]] = "1"
        case ("spec", _, _, "container", "steps", _, "command" | "args" | "interpreter" | "result" as field):
            owner[field] = _VALID[f"container.{field}"]
        case ("spec", _, _, "container", "command" | "args" as field) if word is not None and word < len(owner[field]):
            owner[field][word] = "x"
        case ("spec", _, _, *fields) if ".".join(map(str, fields)) in _VALID:
            owner[path[-1]] = _VALID[".".join(map(str, fields))]
        case _:
            return False
    return True

"""Every field of the kinds as Markdown, from the OpenAPI schemas of the CRDs. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torpor_reference.tables import Row, Table, escaped, markdown

Schema = Mapping[str, Any]
DURATION = r"^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+(\.[0-9]+)?s)?([0-9]+ms)?$"
_OF_TASK = re.compile(r"\['[\w.]*', 'task ' \+ t\.name \+ ': ([^']*)'(?: \+ '([^']*)')?\]")
_OF_SPEC = re.compile(r"\[\['[\w.]*', '((?!spec\.workflow)[^']*)'\]\]")
_HEADER = ("Field", "Type", "Default", "Description")


def sections(crd: Schema, rules: Mapping[str, Sequence[str]]) -> str:
    """The spec and the status of one CRD, a section for each object. `rules` are those of policies, by path."""
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    kind = crd["spec"]["names"]["kind"]
    sections = [
        section
        for part in ("spec", "status")
        if part in root["properties"]
        for section in _sections(part, root["properties"][part], kind, rules)
    ]
    return "\n\n".join(sections)


def columns(crd: Schema) -> str:
    """The columns of `kubectl get`, those of `-o wide` last."""
    listed = crd["spec"]["versions"][0]["additionalPrinterColumns"]
    rows = [
        (
            column["name"].upper(),
            f"`{column['jsonPath']}`",
            "yes" if column.get("priority") else "",
            column["description"],
        )
        for column in sorted(listed, key=lambda column: column.get("priority", 0))
    ]
    return markdown(("Column", "Field", "Only with `-o wide`", "Description"), rows)


def values(crd: Schema, path: str, header: Row) -> Table:
    """The values of a field with an enumeration. The page describes them."""
    field = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for name in path.split("."):
        field = field["properties"][name.removesuffix("[]")]
        field = field.get("items", field)
    return Table(header=header, rows=[(f"`{value}`",) for value in field["enum"]])


def _sections(path: str, schema: Schema, kind: str, more: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The object at this path, then those in it. Those in a body are those of a task."""
    lines = [f"### {kind} `{path}`", _sentence(schema)]
    required = frozenset(schema.get("required", ()))
    rows = [_row(name, field, required=name in required) for name, field in schema["properties"].items()]
    lines.append(markdown(_HEADER, rows))
    rules = [rule["message"] for rule in schema.get("x-kubernetes-validations", ()) if "message" in rule]
    if rules := [*rules, *more.get(path, ())]:
        lines.append("Rules:\n\n" + "\n".join(f"- {escaped(rule)}" for rule in rules))
    yield "\n\n".join(line for line in lines if line)
    for name, field in schema["properties"].items():
        suffix, inner = _inner(field)
        if inner is not None and not _is_workflow(inner) and not path.endswith(".bodies.*"):
            yield from _sections(f"{path}.{name}{suffix}", inner, kind, more)


def _is_workflow(schema: Schema) -> bool:
    """Whether an object is the spec of a Workflow in another kind, which has its own section."""
    return bool({"tasks", "groups", "templateRef"} <= schema["properties"].keys())


def _inner(field: Schema) -> tuple[str, Schema | None]:
    """The object in a field with what its path adds, or none where the field holds no object with known fields."""
    if "properties" in field:
        return "", field
    if "properties" in field.get("items", {}):
        return "[]", field["items"]
    more = field.get("additionalProperties")
    if isinstance(more, Mapping) and "properties" in more:
        return ".*", more
    return "", None


def _row(name: str, field: Schema, *, required: bool) -> tuple[str, ...]:
    default = field.get("default")
    shown = "" if default is None or isinstance(default, dict) else f"`{_shown(default)}`"
    return f"`{name}`", _type(field) + (", required" if required else ""), shown, _sentence(field)


def _sentence(schema: Schema) -> str:
    """The description without the default, which has a column of its own."""
    return escaped(schema.get("description", "").partition(" Default: ")[0])


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(field: Schema) -> str:
    """The type with its bounds."""
    match field.get("type"):
        case "array":
            return f"list of {_inline(field['items'])}" + _bounds(field, "minItems", "maxItems", " entries")
        case "object" if "additionalProperties" in field:
            more = field["additionalProperties"]
            value = _inline(more) if isinstance(more, Mapping) else "any"
            return f"map of {value}" + _bounds(field, "minProperties", "maxProperties", " entries")
        case "object":
            return "object"
        case "string" if "enum" in field:
            return "one of " + ", ".join(f"`{value}`" for value in field["enum"])
        case "string" if field.get("format") == "date-time":
            return "time"
        case "string" if field.get("pattern") == DURATION:
            return "duration"
        case "string":
            return "string" + _bounds(field, "minLength", "maxLength", " characters")
        case None:
            return "any"
        case name:
            return f"{name}" + _bounds(field, "minimum", "maximum", "")


def _inline(field: Schema) -> str:
    """The type within another one: its bounds in brackets."""
    name, comma, bounds = _type(field).partition(", ")
    return f"{name} ({bounds})" if comma and "enum" not in field else name + comma + bounds


def _bounds(field: Schema, least: str, most: str, unit: str) -> str:
    low, high = field.get(least), field.get(most)
    if low is None and high is None:
        return ""
    if high is None:
        return f", {low:,} or more{unit}"
    return f", up to {high:,}{unit}" if low is None else f", {low:,} to {high:,}{unit}"


def policy_sentences(policy: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """Return the sentences of policy torpor-workflow by the path of their object, without those that quote a value."""
    texts = [variable["expression"] for variable in policy["spec"]["variables"]]
    return {
        "spec": [sentence for text in texts for sentence in _OF_SPEC.findall(text)],
        "spec.tasks[]": ["".join(parts) for text in texts for parts in _OF_TASK.findall(text)],
    }

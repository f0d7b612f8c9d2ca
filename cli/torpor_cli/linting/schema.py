"""Checks a value against the OpenAPI schema of a CRD, with the messages of the API server. Pure.

It knows what a structural schema of Torpor uses: types, patterns, sizes, bounds, enums, lists with keys, nullable and
preserved values. A null in any other field counts as a missing field, as it does in the API server.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from torpor_crds.models import base, files, volume_claim
from torpor_wire import times

from torpor_cli.linting import peer_fields
from torpor_cli.linting.finding import LintProblem, LintRule, Path, dotted

Schema = Mapping[str, Any]
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_CUTOFF = 0.6
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_FORMS = {
    "^[a-z][a-z0-9_]*$": "use lower-case letters, digits and underscores, such as load_all",
    r"^\$\{ *tasks\.[a-z][a-z0-9_]{0,39}\.files": "write ${tasks.NAME.files.OUTPUT}, or an object such as {text: ...}",
    times.DURATION_PATTERN: "write a number and its unit without spaces, such as 90s, 5m, 1h30m or 7d",
    files.PATH["pattern"]: "write an absolute path, such as /data/table.csv, without `.`, `..` and colons",
    volume_claim.QUANTITY: "write a size, such as 500Mi or 10Gi",
    rf"^({base.QUANTITY})$": "write a quantity, such as 500m or 2Gi",
}
_UNQUOTED = "; YAML reads an unquoted y, n, yes, no, on or off as a boolean: quote it"


def unknown_fields(value: Any, schema: Schema, path: Path = ()) -> Iterator[LintProblem]:
    """Yield the fields that the schema does not have; strict decoding rejects them."""
    match value:
        case dict() if "properties" in schema:
            known: Mapping[str, Schema] = schema["properties"]
            for name, child in value.items():
                if name in known:
                    yield from unknown_fields(child, known[name], (*path, name))
                elif not schema.get(_PRESERVE):
                    message = f'unknown field "{_strict((*path, name))}"{_hint((*path, name), known)}'
                    yield LintProblem(path=(*path, name), rule=LintRule.UNKNOWN_FIELD, message=message)
        case dict() if isinstance(schema.get("additionalProperties"), dict):
            for name, child in value.items():
                yield from unknown_fields(child, schema["additionalProperties"], (*path, name))
        case list() if "items" in schema:
            for index, child in enumerate(value):
                yield from unknown_fields(child, schema["items"], (*path, index))
        case _:
            return


def _hint(path: Path, known: Mapping[str, Schema]) -> str:
    """Return the field that is meant: what another engine calls so, one in an object beside it, or a similar one."""
    name = str(path[-1])
    if (meant := peer_fields.meant(path, known)) is not None:
        return f"; did you mean {meant}?"
    inner = [f'"{field}.{name}"' for field, schema in known.items() if name in schema.get("properties", {})]
    return f"; did you mean {' or '.join(inner)}?" if inner else nearest(name, known)


def nearest(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """Return `; did you mean "python"?`, or nothing if no known name is near."""
    by_text = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_text, n=1, cutoff=_CUTOFF)
    return f'; did you mean "{by_text[close[0]]}"?' if close else ""


def without_nulls(value: Any, schema: Schema) -> Any:
    """Return the value as the API server stores it: without nulls where the schema allows none, with its defaults."""
    match value:
        case dict() if "properties" in schema:
            known: Mapping[str, Schema] = schema["properties"]
            kept = {
                name: without_nulls(child, known.get(name, {}))
                for name, child in value.items()
                if child is not None or name not in known or known[name].get("nullable")
            }
            missing = {name: child["default"] for name, child in known.items() if "default" in child}
            return kept | {
                name: without_nulls(json.loads(json.dumps(default)), known[name])
                for name, default in missing.items()
                if name not in kept
            }
        case dict() if isinstance(schema.get("additionalProperties"), dict):
            return {name: without_nulls(child, schema["additionalProperties"]) for name, child in value.items()}
        case list() if "items" in schema:
            return [without_nulls(child, schema["items"]) for child in value]
        case float() if schema.get("type") == "integer" and value.is_integer():
            return int(value)
        case _:
            return value


def violations(value: Any, schema: Schema, path: Path = ()) -> Iterator[LintProblem]:
    """Yield what the schema does not allow. The value has no nulls that count as missing fields."""
    if value is None and schema.get("nullable"):
        return
    wanted, actual = schema.get("type"), type_name(value)
    if wanted is not None and not _fits(wanted, actual):
        message = f'Invalid value: "{actual}": {dotted(path)} in body must be of type {wanted}: "{actual}"'
        hint = _UNQUOTED if (wanted, actual) == ("string", "boolean") else peer_fields.form(path, str(wanted), actual)
        yield _problem(path, message + hint)
        return
    match value:
        case str():
            yield from _text(value, schema, path)
        case bool() | None:
            return
        case int() | float():
            yield from _number(value, schema, path)
        case list():
            yield from _list(value, schema, path)
        case dict():
            yield from _object(value, schema, path)


def is_blocking(problem: LintProblem) -> bool:
    """Whether the API server evaluates no rules because of it; patterns and bounds do not prevent them."""
    return not any(part in problem.message for part in (" in body should ", "Duplicate value"))


def without(value: Any, paths: Collection[Path], path: Path = ()) -> Any:
    """Return a copy without the fields at these paths, so that the rest can be checked further. Items stay."""
    match value:
        case dict():
            return {
                name: without(child, paths, (*path, name))
                for name, child in value.items()
                if (*path, name) not in paths
            }
        case list():
            return [without(child, paths, (*path, index)) for index, child in enumerate(value)]
        case _:
            return value


def type_name(value: Any) -> str:
    """Return the JSON type of a value as the API server names it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _fits(wanted: str, actual: str) -> bool:
    return wanted == actual or (wanted, actual) == ("number", "integer")


def _text(value: str, schema: Schema, path: Path) -> Iterator[LintProblem]:
    if len(value) > schema.get("maxLength", len(value)):
        yield _problem(path, f"Too long: may not be more than {schema['maxLength']} bytes")
        return
    if len(value) < schema.get("minLength", 0):
        yield _in_body(path, value, f"should be at least {schema['minLength']} chars long")
    if "pattern" in schema and not go_pattern(schema["pattern"]).search(value):
        yield _in_body(path, value, f"should match '{schema['pattern']}'{_form(schema['pattern'])}")
    if schema.get("format") == "date-time" and not _is_date_time(value):
        yield _in_body(path, value, f"must be of type date-time: {_quoted(value)}")
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(_quoted(choice) for choice in schema["enum"])
        message = f"Unsupported value: {_quoted(value)}: supported values: {supported}"
        yield _problem(path, message + nearest(value, schema["enum"]))


def _form(pattern: str) -> str:
    """Return in words what a pattern wants that people of other engines often miss, or nothing."""
    return next((f"; {words}" for start, words in _FORMS.items() if pattern.startswith(start)), "")


def _is_date_time(text: str) -> bool:
    """Whether the API server takes it as a date-time: it checks the form, and whether the date exists."""
    if _DATE_TIME.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def _number(value: float, schema: Schema, path: Path) -> Iterator[LintProblem]:
    if value < schema.get("minimum", value):
        yield _in_body(path, value, f"should be greater than or equal to {schema['minimum']}")
    if value > schema.get("maximum", value):
        yield _in_body(path, value, f"should be less than or equal to {schema['maximum']}")


def _list(value: list[Any], schema: Schema, path: Path) -> Iterator[LintProblem]:
    if len(value) > schema.get("maxItems", len(value)):
        yield _problem(path, f"Too many: {len(value)}: must have at most {schema['maxItems']} items")
    if len(value) < schema.get("minItems", 0):
        yield _in_body(path, len(value), f"should have at least {schema['minItems']} items")
    for index, child in enumerate(value):
        yield from violations(child, schema.get("items", {}), (*path, index))
    yield from _duplicates(value, schema.get("x-kubernetes-list-map-keys", ()), path)


def _duplicates(value: list[Any], keys: Sequence[str], path: Path) -> Iterator[LintProblem]:
    seen: set[str] = set()
    for index, child in enumerate(value):
        if not keys or not isinstance(child, dict) or not all(key in child for key in keys):
            continue
        identity = json.dumps({key: child[key] for key in keys}, separators=(",", ":"), ensure_ascii=False)
        if identity in seen:
            yield _problem((*path, index), f"Duplicate value: {identity}")
        seen.add(identity)


def _object(value: dict[str, Any], schema: Schema, path: Path) -> Iterator[LintProblem]:
    if len(value) > schema.get("maxProperties", len(value)):
        yield _problem(path, f"Too many: {len(value)}: must have at most {schema['maxProperties']} items")
    for name in schema.get("required", ()):
        if name not in value:
            yield _problem((*path, name), "Required value")
    known: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name, child in value.items():
        if name in known:
            yield from violations(child, known[name], (*path, name))
        elif isinstance(others, dict):
            yield from violations(child, others, (*path, name))


def _in_body(path: Path, value: object, text: str) -> LintProblem:
    return _problem(path, f"Invalid value: {_quoted(value)}: {dotted(path)} in body {text}")


def _problem(path: Path, text: str) -> LintProblem:
    return LintProblem(path=path, rule=LintRule.SCHEMA, message=f"{dotted(path)}: {text}")


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _strict(path: Path) -> str:
    """Return a path as strict decoding writes it: all keys after a dot."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


@lru_cache(maxsize=256)
def go_pattern(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern of Go, whose `$` matches only at the end of the text."""
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))

"""Objects that a CRD's schema allows: Hypothesis strategies read off the committed YAML.

Most rules between fields are not in the schema, so about half of what is generated is refused by CEL rules or policies.
Texts are drawn from what has caused failures: expressions, brackets, control characters, names of other tasks.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

_CRDS = Path(__file__).resolve().parents[2] / "crds"
_NAMES = ("first", "second", "third")
_TEXTS = (
    "x",
    "",
    "1h",
    "${params.a}",
    "${tasks.first.result}",
    "${tasks.second.results}",
    "${tasks.nobody.result}",
    "${mapping.value}",
    "${1 / 0}",
    "${[1, 2, 3].map(x, [x])}",
    "${",
    "$${params.a}",
    "\x1b[31mred\x07",
    "é\u202e\U0001f600",
    "a" * 300,
)
_INTEGERS = (0, 1, 2, 1024)
_TEXT_LENGTH = 40
_END = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\$")
"""An escaped character, a class, or `$`, which Python also finds before a newline at the end."""

Strategy = st.SearchStrategy[Any]
_LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from(_TEXTS) | st.floats(allow_nan=False)
_ANY_JSON = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner), max_leaves=8
)


@cache
def spec_of(plural: str) -> dict[str, Any]:
    """The schema of `spec` of a kind."""
    definition = yaml.safe_load((_CRDS / f"{plural}.torpor.dev.yaml").read_text())
    schema: dict[str, Any] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec: dict[str, Any] = schema["properties"]["spec"]
    return spec


def values(schema: dict[str, Any]) -> Strategy:
    """Values that fit a structural schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return _texts(schema)
        case "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 10_000)
            return st.sampled_from([each for each in _INTEGERS if low <= each <= high] or [low])
        case "number":
            return st.floats(min_value=schema.get("minimum", 0.0), max_value=schema.get("maximum", 100.0))
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(schema["items"]), min_size=schema.get("minItems", 0), max_size=2)
        case "object" if "properties" in schema:
            return objects(schema)
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            keys = st.sampled_from(("a", "b", "true", "Not-An-Identifier"))
            return st.dictionaries(keys, values(schema["additionalProperties"]), max_size=2)
        case _:
            return _ANY_JSON


def objects(schema: dict[str, Any], *, without: frozenset[str] = frozenset()) -> Strategy:
    """Objects of a schema: what is required, and some of the rest but for the fields `without`."""
    required = set(schema.get("required", ()))
    properties = {name: values(each) for name, each in schema["properties"].items() if name not in without}
    return st.fixed_dictionaries(
        {name: each for name, each in properties.items() if name in required},
        optional={name: each for name, each in properties.items() if name not in required},
    )


def tasks(schema: dict[str, Any]) -> Strategy:
    """One to three tasks with names of their own, each with one body, so that many of them are accepted."""
    bodies: Strategy = st.sampled_from(
        (
            {"python": "tests.integration.controller.tasks:echo"},
            {"container": {"command": ["true"]}, "image": "tests"},
            {"trigger": {"class": "duration", "kwargs": {"duration": "1s"}}},
        )
    )
    taken = frozenset({"name", "python", "container", "trigger", "image", "after", "group"})
    rest = st.fixed_dictionaries(
        {}, optional={name: values(each) for name, each in schema["properties"].items() if name not in taken}
    )
    after = st.fixed_dictionaries({}, optional={"after": st.lists(st.sampled_from(_NAMES), max_size=2)})
    combined = st.tuples(bodies, after, st.one_of(st.just({}), rest)).map(lambda parts: parts[0] | parts[1] | parts[2])
    many = st.lists(combined, min_size=1, max_size=len(_NAMES))
    return many.map(lambda items: [{"name": name} | each for name, each in zip(_NAMES, items, strict=False)])


def _as_end(found: re.Match[str]) -> str:
    return r"\Z" if found[0] == "$" else found[0]


def _texts(schema: dict[str, Any]) -> Strategy:
    longest = min(schema.get("maxLength", _TEXT_LENGTH), _TEXT_LENGTH)
    if "pattern" in schema:
        texts = st.from_regex(_END.sub(_as_end, schema["pattern"]), fullmatch=False)
        return texts.filter(lambda text: schema.get("minLength", 0) <= len(text) <= longest)
    fitting = [each for each in _TEXTS if len(each) >= schema.get("minLength", 0)]
    return st.sampled_from([each for each in fitting if len(each) <= schema.get("maxLength", 300)] or ["x"])

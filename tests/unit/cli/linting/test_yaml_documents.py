"""Values and places of YAML documents."""

import math

import pytest
from torpor_cli import yaml_format
from torpor_cli.linting import yaml_documents
from torpor_cli.linting.finding import Path
from torpor_cli.linting.yaml_documents import Document, InvalidYaml

from tests.unit.cli.linting.findings import lint_text

_TEXT = """\
shared: &shared
  list: [1, two,
         three]
first:
  <<: *shared
  own: {key: value, other: 2}
---
# a comment
---
- name: a
  after:
  - b
- *missing
"""


def document(text: str) -> Document:
    (parsed,) = yaml_documents.read(text)
    assert isinstance(parsed, Document)
    return parsed


def broken(text: str) -> InvalidYaml:
    *_, last = yaml_documents.read(text)
    assert isinstance(last, InvalidYaml)
    return last


def test_documents_before_an_error_are_read_and_empty_ones_are_left_out() -> None:
    first, last = yaml_documents.read(_TEXT)
    assert isinstance(first, Document)
    items = [1, "two", "three"]
    assert first.value == {"shared": {"list": items}, "first": {"list": items, "own": {"key": "value", "other": 2}}}
    assert isinstance(last, InvalidYaml)
    assert (last.at.line, last.message) == (13, "unknown anchor missing")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("shared",), (1, 1)),
        (("shared", "list", 2), (3, 10)),
        (("first", "own", "other"), (6, 21)),
        (("first", "list", 1), (2, 13)),
        (("first", "own", "absent"), (6, 3)),
        (("absent", "deeper"), (1, 1)),
        ((), (1, 1)),
    ],
)
def test_a_field_is_at_its_key_and_a_missing_one_at_the_field_around_it(path: Path, place: tuple[int, int]) -> None:
    at = document(_TEXT.partition("---")[0]).position(path)
    assert (at.line, at.column) == place


def test_a_key_that_occurs_twice_is_a_problem_at_its_last_place() -> None:
    parsed = document("a: 1\nb:\n  c: 1\n  c: 2\n")
    assert [(problem.path, problem.message) for problem in parsed.problems] == [
        (("b", "c"), 'key "c" already set in map')
    ]
    assert parsed.position(("b", "c")).line == 4


def test_a_key_that_is_an_object_is_a_problem_of_its_field() -> None:
    parsed = document("args:\n  rows: {{ rows }}\n")
    message = "a key must be text: quote a value that begins with { or ["
    assert [(problem.path, problem.message) for problem in parsed.problems] == [(("args", "rows"), message)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "expected ',' or ']'"),
        ("a:\n\tb: 1", "cannot start any token"),
        ("a: \x07", "control characters are not allowed"),
        ("[" * 10_000, "nested more than 100 levels deep"),
        ("a: &a [*a]", "anchor a contains itself"),
        ("a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 400)), "100 levels deep"),
        (
            "a0: &a0 [" + "1," * 99 + "1]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 100}]\n" for n in (1, 2)),
            "anchors",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_with_its_place(text: str, message: str) -> None:
    assert message in broken(text).message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("n", False),
        ("Off", False),
        ("yEs", "yEs"),
        ("~", None),
        ("", None),
        ("Null", None),
        ("012", 10),
        ("0o12", 10),
        ("0x_1f", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("1.", 1.0),
        ("2026-11-20", "2026-11-20"),
        ("12:30:45", "12:30:45"),
        ("1" * 5000, "1" * 5000),
        ("0x", "0x"),
        ("ingest:1.4", "ingest:1.4"),
    ],
)
def test_a_plain_scalar_has_the_value_that_kubectl_sends(text: str, value: object) -> None:
    resolved = yaml_format.resolve(text)
    assert (resolved, type(resolved)) == (value, type(value))


def test_quoted_and_tagged_scalars_are_texts_and_keys_are_json() -> None:
    text = "a: 'yes'\nb: \"1\"\nc: !!str 1\nd: !!int '1'\ny: 1\n1: 2\n"
    assert document(text).value == {"a": "yes", "b": "1", "c": "1", "d": 1, "true": 1, "1": 2}


def test_json_with_escaped_characters_is_read() -> None:
    text = '{"a": "\\ud83d\\ude00 \\u00e9", "b": "\\\\ud83d\\\\ude00"}'
    assert document(text).value == {"a": "\U0001f600 é", "b": "\\ud83d\\ude00"}


@pytest.mark.parametrize("place", ["- name: y", "- name: a\n    expand: [{name: n, over: [1]}]"])
def test_a_name_that_yaml_reads_as_a_boolean_gets_the_hint_about_quotes(place: str) -> None:
    text = f"apiVersion: torpor.dev/v1alpha1\nkind: Workflow\nmetadata: {{name: x}}\nspec:\n  tasks:\n  {place}\n"
    messages = [finding.message for finding in lint_text(text + "    python: m:f\n    image: x\n")]
    hint = 'must be of type string: "boolean"; YAML reads an unquoted y, n, yes, no, on or off as a boolean: quote it'
    assert any(message.endswith(hint) for message in messages), messages

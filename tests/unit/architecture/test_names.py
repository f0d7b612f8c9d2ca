"""One class name has one meaning in the repository, private classes excluded, and no function is named `of`."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (
    "airflow-bridge",
    "archive",
    "benchmarks",
    "cli",
    "crds",
    "dev",
    "examples",
    "libraries",
    "local",
    "operator",
    "tests",
    "triggerer",
    "worker-image",
)
CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)
FUNCTION_OF = re.compile(r"^ *(?:async )?def of\(", re.MULTILINE)
SHARED = {
    "File": "a trigger that users import, and a row of an example",
    "Settings": "one frozen model of settings for each process",
    "Row": "each example is a program of its own",
    "Workflow": "the model of the kind, and what authors import",
}
"""Names that stay shared, and why."""


def sources() -> dict[Path, str]:
    return {path: path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}


def classes(text: str) -> set[str]:
    """The classes at the top of a module; `CLASS` also finds those of a program in a string."""
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def test_a_class_name_has_one_meaning_in_the_repository() -> None:
    texts = sources()
    paths: dict[str, list[Path]] = {}
    for path, text in texts.items():
        for name in set(CLASS.findall(text)):
            paths.setdefault(name, []).append(path)
    shared = {
        name: [str(path) for path in defining]
        for name, mentioning in paths.items()
        if len(mentioning) > 1 and len(defining := [path for path in mentioning if name in classes(texts[path])]) > 1
    }
    assert {name: defining for name, defining in shared.items() if name not in SHARED} == {}
    assert SHARED.keys() - shared.keys() == set()  # an entry that is no longer shared leaves the list


def test_a_function_says_what_it_returns_rather_than_of() -> None:
    named_of = {str(path.relative_to(ROOT)) for path, text in sources().items() if FUNCTION_OF.search(text)}
    assert named_of == set()

"""Lint has nothing to say about the Workflows of the documentation and of examples/."""

from pathlib import Path

import pytest
from torpor_cli.linting import sources
from torpor_cli.linting.finding import Severity

from tests.support.manifests import manifest
from tests.unit.architecture.test_docs_examples import EXAMPLES
from tests.unit.cli.linting.findings import lint, lint_text

_FOLDER = Path(__file__).resolve().parents[4] / "examples"
_CUSTOM = "the arguments of a custom class are checked with --trigger NAME=MODULE:CLASS"


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_of_the_documentation_is_clean(place: str) -> None:
    body = manifest("Workflow", "run", EXAMPLES[place])
    assert [problem for problem in lint(body) if not problem.message.endswith(_CUSTOM)] == []


def test_the_files_of_the_examples_are_clean() -> None:
    problems = [
        problem for source in sources.read([str(_FOLDER)], recursive=True) for problem in lint_text(source.text)
    ]
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []


_TRANSLATIONS = sorted(path for peer in ("argo", "tekton") for path in (_FOLDER / f"from-{peer}").glob("*.yaml"))


@pytest.mark.parametrize("path", _TRANSLATIONS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_translated_example_is_clean_and_names_its_origin(path: Path) -> None:
    text = path.read_text()
    assert lint_text(text) == ()
    shows, origin, _ = text.split("\n", 2)
    assert shows.startswith("# ")
    assert origin.startswith(f"# In {path.parent.name.removeprefix('from-').title()}: ")

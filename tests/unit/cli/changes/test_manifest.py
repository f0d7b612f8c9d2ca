import io
from collections.abc import Callable
from pathlib import Path

import pytest
from torpor_cli.changes import manifest
from torpor_cli.errors import CliError
from torpor_cli.linting import yaml_documents

_WORKFLOW = """
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {generateName: x-}
spec: {params: {day: 2026-11-20, limit: 1}, tasks: []}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "x.yaml"
    path.write_text(text)
    return str(path)


def test_a_date_is_a_string_as_it_is_for_kubectl(tmp_path: Path) -> None:
    (workflow,) = manifest.read(written(tmp_path, _WORKFLOW))
    assert workflow["spec"]["params"] == {"day": "2026-11-20", "limit": 1}


def test_scalars_and_keys_are_read_as_kubectl_and_lint_read_them(tmp_path: Path) -> None:
    text = """
a: &a {n: 1, "n": off, 3: 0o17, y: 12:30}
b: {<<: *a, f: 1.5, g: , h: !!str 2, "<<": "yes"}
"""
    (documents,) = yaml_documents.read(text)
    assert isinstance(documents, yaml_documents.Document)
    path = written(tmp_path, text)
    assert manifest.mapping(path) == documents.value
    assert documents.value["a"] == {"false": 1, "n": False, "3": 15, "true": "12:30"}


def test_a_file_may_have_several_documents(tmp_path: Path) -> None:
    assert len(manifest.read(written(tmp_path, f"---{_WORKFLOW}---{_WORKFLOW}---\n"))) == 2


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(_WORKFLOW))
    assert len(manifest.read("-")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: ConfigMap\napiVersion: v1\n", "document 1 is v1 ConfigMap; `torpor submit` takes"),
        ("a: b\n", "document 1 has no apiVersion or no kind"),
        ("- a\n", "document 1 is not a mapping"),
        ("a: {b\nc: d\n", r"x\.yaml:2:2: invalid YAML"),
        ("", "has no documents"),
        ("kind: Workflow\napiVersion: torpor.dev/v1alpha1\nspec: {}\n", "document 1 has no metadata"),
        ("!!python/object/apply:os.system [id]", "document 1 is not a mapping"),
        ("a: 1\na: 2\n", r'x\.yaml:2:1: invalid YAML: key "a" already set in map'),
        ("\tx", r"x\.yaml:1:1: invalid YAML"),
    ],
)
def test_what_is_no_workflow_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CliError, match=message) as raised:
        manifest.read(written(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CliError, match=r"no/such\.yaml cannot be read: No such file"):
        manifest.read("no/such.yaml")


def bomb(levels: int, width: int, leaf: str = "x") -> str:
    """Anchors that refer to each other: width ** levels values."""
    lines = [f"a0: &a0 {leaf}", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels + 1))]
    return "\n".join(lines)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(8, 10), "1,000,000 values, with its anchors expanded"),
        ("---\n".join([bomb(4, 10) + "\n"] * 100), "1,000,000 values, with its anchors expanded"),
        (bomb(2, 300, "x" * 10_000), "characters, with its anchors expanded"),
        (bomb(400, 1), "nested more than 100 levels deep"),
        ("[" * 100_000, "nested more than 100 levels deep"),
        ("a: &a {b: *a}", "contains itself"),
    ],
)
@pytest.mark.parametrize("read", [manifest.read, manifest.mapping])
def test_a_yaml_bomb_is_refused_before_it_takes_memory(
    tmp_path: Path, read: Callable[[str], object], text: str, message: str
) -> None:
    with pytest.raises(CliError, match=message):
        read(written(tmp_path, text))


@pytest.mark.attack
def test_an_endless_file_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/zero").open(encoding="utf-8") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        for source in ("/dev/zero", "-"):
            with pytest.raises(CliError, match="has more than 33,554,432 characters"):
                manifest.read(source)

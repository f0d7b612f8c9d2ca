"""Rules that import-linter cannot express: standard library only, sizes of folders and modules, names of folders."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COMPONENTS = (
    "libraries",
    "crds",
    "operator",
    "triggerer",
    "archive",
    "cli",
    "worker-image",
    "local",
    "ui",
    "dev",
    "airflow-bridge",
    "manifests",
    "tests",
    "benchmarks",
)


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """The top packages that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (name.name.partition(".")[0] for name in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case _:
                pass


def imported_at_once(path: Path) -> Iterator[str]:
    """The top packages that a module imports when it is itself imported."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.Import(names=names):
                yield from (name.name.partition(".")[0] for name in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case _:
                pass


@pytest.mark.parametrize("path", modules("libraries/wire"), ids=lambda path: path.name)
def test_the_wire_contract_is_standard_library_alone(path: Path) -> None:
    assert set(imported(path)) <= sys.stdlib_module_names | {"torpor_wire"}


@pytest.mark.parametrize("path", modules("libraries/views"), ids=lambda path: path.name)
def test_the_views_are_standard_library_and_the_wire_contract(path: Path) -> None:
    assert set(imported(path)) <= sys.stdlib_module_names | {"torpor_wire", "torpor_views"}


@pytest.mark.parametrize("path", modules("libraries/client"), ids=lambda path: path.name)
def test_what_commands_and_page_share_is_standard_library_and_the_views(path: Path) -> None:
    assert set(imported(path)) <= sys.stdlib_module_names | {"torpor_wire", "torpor_views", "torpor_client"}


@pytest.mark.parametrize("path", modules("worker-image/torpor"), ids=lambda path: path.name)
def test_what_a_task_pod_imports_is_standard_library_and_the_wire_contract(path: Path) -> None:
    assert set(imported_at_once(path)) <= sys.stdlib_module_names | {"torpor", "torpor_wire"}


@pytest.mark.parametrize("path", modules("airflow-bridge/torpor_airflow"), ids=lambda path: path.name)
def test_the_bridge_is_airflow_the_sdk_and_the_wire_contract(path: Path) -> None:
    known = {"airflow", "jinja2", "msgspec", "pydantic", "structlog", "torpor", "torpor_airflow", "torpor_wire", "yaml"}
    of_check = {"repeatable", "sqlalchemy", "torpor_local"} if path.parent.name == "check" else set()
    assert set(imported(path)) <= sys.stdlib_module_names | known | of_check


def test_no_component_imports_airflow_or_the_bridge() -> None:
    others = [component for component in COMPONENTS if component not in {"airflow-bridge", "tests"}]
    importing = [path for each in others for path in modules(each) if {"airflow", "torpor_airflow"} & {*imported(path)}]
    assert importing == []


def test_a_folder_holds_at_most_twenty_modules() -> None:
    folders = {path.parent for component in (*COMPONENTS, "examples") for path in modules(component)}
    sizes = {
        str(folder.relative_to(ROOT)): len({*folder.glob("*.py")} - {folder / "__init__.py"}) for folder in folders
    }
    assert {folder: size for folder, size in sizes.items() if size > 20} == {}


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_is_no_package_that_hides_one_of_the_standard_library(component: str) -> None:
    assert not (ROOT / component / "__init__.py").exists()


def test_no_folder_of_tests_is_named_like_a_module_of_the_standard_library() -> None:
    folders = {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    assert folders.isdisjoint(sys.stdlib_module_names)


@pytest.mark.parametrize("component", [*COMPONENTS, "examples"])
def test_a_module_can_be_read_in_one_go(component: str) -> None:
    long = {str(path.relative_to(ROOT)): length for path in modules(component) if (length := _length(path)) > 300}
    assert long == {}


def _length(path: Path) -> int:
    return len(path.read_text().splitlines())

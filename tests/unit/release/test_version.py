"""One place has the version; every file that repeats it agrees."""

import shutil
from pathlib import Path

import pytest
from torpor_dev.console import DevError
from torpor_release import version


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copies of the files that have the version."""
    for file in version.files():
        copy = tmp_path / file.path.relative_to(version.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, copy)
    return tmp_path


def test_every_file_has_the_version_of_the_repository() -> None:
    now = version.current()
    different = {
        str(file.path.relative_to(version.ROOT)): versions
        for file in version.files()
        if (versions := file.versions()) != {now}
    }
    assert different == {}


def test_every_project_of_the_workspace_has_the_version() -> None:
    paths = {file.path.relative_to(version.ROOT).as_posix() for file in version.files()}
    assert {"pyproject.toml", "uv.lock", "cli/packaging/pyproject.toml", "libraries/wire/pyproject.toml"} <= paths
    assert not any(path.startswith("examples/") for path in paths)


@pytest.mark.parametrize("chosen", ["7.8.9", "7.8.9rc1", "7.8.9.dev0"])
def test_a_new_version_is_written_into_every_file(checkout: Path, chosen: str) -> None:
    changed = version.set_version(chosen, checkout)
    assert len(changed) == len(version.files(checkout)) > 15
    assert version.current(checkout) == chosen
    assert version.set_version(chosen, checkout) == []


def test_versions_of_dependencies_and_examples_stay_in_the_lock(checkout: Path) -> None:
    before = (checkout / "uv.lock").read_text()
    version.set_version("7.8.9", checkout)
    after = (checkout / "uv.lock").read_text()
    changed = [old for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]
    assert set(changed) == {f'version = "{version.current()}"'}
    assert 'version = "0.1.0"\nsource = { editable = "examples/census" }' in after


@pytest.mark.parametrize("chosen", ["1", "v1.0.0", "1.0", "1.0.0-dev", "1.0.0 ", '1.0.0"', "latest"])
def test_a_version_that_no_release_can_have_is_refused(checkout: Path, chosen: str) -> None:
    with pytest.raises(DevError, match="VERSION"):
        version.set_version(chosen, checkout)


@pytest.mark.parametrize(
    ("python", "semantic"), [("0.2.0", "0.2.0"), ("0.2.0.dev3", "0.2.0-dev.3"), ("0.2.0rc1", "0.2.0-rc.1")]
)
def test_krew_has_the_version_as_a_semantic_version(python: str, semantic: str) -> None:
    assert version.semantic(python) == semantic

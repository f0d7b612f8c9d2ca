"""start.py of the runtime folder: which interpreter it accepts, and what it puts on sys.path."""

import ast
import json
import os
import subprocess
from pathlib import Path

import pytest
from torpor_wire import constants

from tests.support.runtime.folder import ROOT, bare_python, start

START = ROOT / "worker-image" / "start.py"
PRETEND = "import runpy, sys; sys.version_info = {version}; runpy.run_path({path!r}, run_name='__main__')"
SHOW = "def main(run):\n import json, sys\n print(json.dumps([sys.path, __file__]))\n return 0\ndef in_pod(): pass\n"


def pretend(version: tuple[object, ...], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run start.py with the version of another interpreter."""
    code = PRETEND.format(version=version, path=str(START))
    return subprocess.run(
        [bare_python(), "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=180
    )


def image_with(folder: Path, package: str, source: str) -> Path:
    """A folder of an image with a module `main` in a package."""
    path = folder / package.replace(".", "/")
    path.mkdir(parents=True)
    for parent in (path, *path.parents):
        if parent == folder:
            break
        (parent / "__init__.py").touch()
    (path / "main.py").write_text(source)
    return folder


@pytest.mark.parametrize("version", [(2, 7, 18, "final", 0), (3, 8, 10, "final", 0), (3, 10, 99, "final", 0)])
def test_an_older_interpreter_ends_with_a_sentence_and_its_own_exit_code(version: tuple[object, ...]) -> None:
    ended = pretend(version)

    assert ended.returncode == constants.EXIT_UNSUPPORTED
    number = ".".join(map(str, version[:3]))
    assert f"the image has Python {number} ({bare_python()}" in ended.stderr
    assert "a python task needs Python 3.11 or later" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_the_sentence_is_in_the_termination_log(tmp_path: Path) -> None:
    log = tmp_path / "termination-log"
    log.touch()

    ended = pretend((3, 8, 10), TORPOR_OUTCOME=str(log))

    assert log.read_text() == ended.stderr


def test_no_termination_log_is_created_where_no_kubelet_has_made_one(tmp_path: Path) -> None:
    log = tmp_path / "termination-log"

    assert pretend((3, 8, 10), TORPOR_OUTCOME=str(log)).returncode == constants.EXIT_UNSUPPORTED
    assert not log.exists()


def test_old_interpreters_can_parse_the_file() -> None:
    tree = ast.parse(START.read_text(), feature_version=(3, 4))
    for node in ast.walk(tree):
        assert not isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr | ast.Starred | ast.Nonlocal)
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not node.args.kwonlyargs
            assert all(argument.annotation is None for argument in node.args.args)
    assert START.read_text().isascii()


def test_the_runtime_of_the_folder_runs(folder: Path, tmp_path: Path) -> None:
    ended = start(folder, cwd=tmp_path)

    assert ended.returncode == 2
    assert ended.stderr.startswith("torpor: KUBERNETES_SERVICE_HOST is not set")


def test_the_path_is_that_of_python_m_with_the_runtime_behind_it(folder: Path, tmp_path: Path) -> None:
    image = image_with(tmp_path / "image", "torpor.runtime", SHOW)
    shown = start(folder, cwd=tmp_path, packages=[image])
    (tmp_path / "shown.py").write_text("import sys, json; print(json.dumps(sys.path))")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(image)}
    usual = subprocess.run(
        [bare_python(), "-m", "shown"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    path, _ = json.loads(shown.stdout)

    assert path == [*json.loads(usual.stdout), str(folder / "lib")]


def test_the_torpor_of_the_image_wins(folder: Path, tmp_path: Path) -> None:
    image = image_with(tmp_path / "image", "torpor.runtime", SHOW)

    _, file = json.loads(start(folder, cwd=tmp_path, packages=[image]).stdout)

    assert file == str(image / "torpor" / "runtime" / "main.py")


def test_modules_of_the_working_directory_are_not_shadowed(folder: Path, tmp_path: Path) -> None:
    image_with(tmp_path, "torpor.runtime", SHOW)

    path, file = json.loads(start(folder, cwd=tmp_path).stdout)

    assert path[0] == str(tmp_path)
    assert file == str(tmp_path / "torpor" / "runtime" / "main.py")


def test_a_folder_named_torpor_in_the_working_directory_does_not_matter(folder: Path) -> None:
    """In most images the working directory is /, and the runtime is mounted at /torpor."""
    ended = start(folder, cwd=folder.parent)

    assert folder.name == "torpor"
    assert "KUBERNETES_SERVICE_HOST is not set" in ended.stderr


def test_a_safe_path_stays_safe(folder: Path, tmp_path: Path) -> None:
    image_with(tmp_path, "torpor.runtime", SHOW)

    ended = start(folder, "-P", cwd=tmp_path)

    assert "KUBERNETES_SERVICE_HOST is not set" in ended.stderr


def test_another_package_of_the_name_is_named(folder: Path, tmp_path: Path) -> None:
    image = tmp_path / "image"
    (image / "torpor").mkdir(parents=True)
    (image / "torpor" / "__init__.py").touch()

    ended = start(folder, cwd=tmp_path, packages=[image])

    assert ended.returncode == constants.EXIT_UNSUPPORTED
    assert str(image / "torpor" / "__init__.py") in ended.stderr
    assert "Remove other packages of the names torpor and torpor_wire from the image" in ended.stderr


def test_a_python_without_a_standard_module_is_refused_with_its_name(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "sitecustomize.py").write_text("import sys; sys.modules['ssl'] = None")

    ended = start(folder, cwd=tmp_path, packages=[tmp_path / "image"])

    assert ended.returncode == constants.EXIT_UNSUPPORTED
    assert "the Python of the image has no module ssl" in ended.stderr

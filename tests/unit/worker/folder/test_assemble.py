"""The runtime folder as assembled for the image."""

import marshal
import os
import stat
import sys
from pathlib import Path

from tests.support.runtime.folder import ROOT, assemble, bare_python


def test_the_folder_has_the_sources_of_both_packages(folder: Path) -> None:
    lib = folder / "lib"
    packages = {"torpor": ROOT / "worker-image" / "torpor", "torpor_wire": ROOT / "libraries" / "wire" / "torpor_wire"}

    assert sorted(path.name for path in folder.iterdir()) == ["lib", "start.py"]
    assert sorted(path.name for path in lib.iterdir()) == sorted(packages)
    for name, package in packages.items():
        sources = {path.relative_to(package) for path in package.rglob("*.py")}
        assert {path.relative_to(lib / name) for path in (lib / name).rglob("*.py")} == sources


def test_every_source_has_bytecode_that_does_not_depend_on_times(folder: Path) -> None:
    for source in (folder / "lib").rglob("*.py"):
        compiled = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        content = compiled.read_bytes()
        assert int.from_bytes(content[4:8], "little") == 0b01, "a hash that is not checked"
        assert marshal.loads(content[16:]).co_filename == f"/torpor/{source.relative_to(folder)}"


def test_any_user_can_read_the_folder_with_any_umask(tmp_path: Path) -> None:
    former = os.umask(0o077)
    try:
        built = assemble(tmp_path / "torpor", bare_python())
    finally:
        os.umask(former)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in built.rglob("*") if path.is_file()}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (built, *built.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o644}, {0o755})

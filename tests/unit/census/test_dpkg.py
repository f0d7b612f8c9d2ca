"""The example's reader of dpkg's database knows what counts as installed."""

from pathlib import Path

from census import dpkg
from census.dpkg import Package

_DATABASE = """\
Package: zlib1g
Status: install ok installed
Section: libs
Installed-Size: 164
Description: compression library - runtime
 Section: of a description, not of the package

Package: gone
Status: deinstall ok config-files
Section: net

Package: anarchism
Status: install ok installed
Section: contrib/doc
"""


def test_what_is_installed_is_listed_by_name_with_its_bytes(tmp_path: Path) -> None:
    database = tmp_path / "status"
    database.write_text(_DATABASE)
    assert dpkg.installed(database) == [Package("anarchism", "doc", 0), Package("zlib1g", "libs", 164 * 1024)]

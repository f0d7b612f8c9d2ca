"""The tasks of examples/groups, each as its pod runs it, and the Workflow that puts them together."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from census import audit, dpkg, tasks
from torpor import testing
from torpor_demo.cluster import ROOT

from tests.support.plan_fixture import PlanFixture

_PACKAGES = [
    dpkg.Package("dash", "shells", 200),
    dpkg.Package("bash", "shells", 7000),
    dpkg.Package("zsh", "shells", 100),
    dpkg.Package("zlib1g", "libs", 164),
]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpkg, "installed", lambda: _PACKAGES)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def test_the_largest_packages_of_a_section_are_found(installed: None) -> None:
    assert testing.run(audit.packages, {"section": "shells", "largest": 2}).result == ["bash", "dash"]


def test_the_files_of_a_package_are_those_of_all_its_architectures(tmp_path: Path) -> None:
    (tmp_path / "zlib1g:amd64.md5sums").write_text("00  usr/lib/libz.so.1\n")
    (tmp_path / "zlib1g:i386.md5sums").write_text("11  usr/lib32/with a space\n")
    (tmp_path / "zlib1g-dev.md5sums").write_text("22  usr/include/zlib.h\n")
    assert dpkg.shipped("zlib1g", tmp_path) == [("usr/lib/libz.so.1", "00"), ("usr/lib32/with a space", "11")]
    assert dpkg.shipped("bash", tmp_path) == []


def test_a_file_is_as_shipped_or_changed_or_absent(tmp_path: Path) -> None:
    (tmp_path / "same").write_text("a")
    (tmp_path / "other").write_text("b")
    files = [["same", _md5("a")], ["other", _md5("a")], ["doc", _md5("a")]]
    result = testing.run(audit.check, {"files": files, "root": str(tmp_path)})
    assert result.result == {"files": 3, "absent": 1, "changed": ["other"]}


def test_a_section_is_the_sum_of_its_packages_and_lists_each() -> None:
    checks = testing.results([{"files": 3, "absent": 1, "changed": ["x"]}, {"files": 2, "absent": 0, "changed": []}])
    row = testing.run(audit.load, {"section": "libs", "checks": checks}).result
    assert row == {"section": "libs", "packages": 2, "files": 5, "absent": 1, "changed": ["x"]}
    _, line = testing.run(audit.report, {"rows": testing.results([row])}).result.splitlines()
    assert line.split() == ["libs", "2", "5", "1", "1"]


def test_the_workflow_gives_each_function_the_arguments_that_it_takes(installed: None) -> None:
    body = yaml.safe_load((ROOT / "examples/groups/workflow.yaml").read_text())["spec"]
    world = PlanFixture(*body.pop("tasks"), **body).settle()

    def played(name: str, function: Any, path: tuple[int, ...] = ()) -> None:
        """The task as its pod would run it, with the arguments of its TaskRun."""
        given = {name: json.loads(text) for name, text in world.arguments(name, path or -1).items()}
        world.succeed(name, json.dumps(testing.run(function, given).result), index=path or -1)

    played("sections", tasks.sections)
    for section, several in enumerate([("bash", "dash"), ("zlib1g",)]):
        played("packages", audit.packages, (section,))
        for package, name in enumerate(several):
            assert world.arguments("fetch", (section, package)) == {"package": json.dumps(name)}
            world.succeed("fetch", "[]", index=(section, package))
            played("check", audit.check, (section, package))
        assert set(world.arguments("load", (section,))) == {"section", "checks"}
        world.succeed("load", index=(section,))
    assert world.run("check", (0, 1)).spec.display_name == "dash of shells"
    assert world.arguments("report")["rows"]["paths"] == "0-1"
    world.succeed("report")
    assert world.status.state == "Succeeded"

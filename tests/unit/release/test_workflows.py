"""The workflows of GitHub have few rights and pin what they use, and the issue forms are valid."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_release.version import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yaml"))
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
TARGETS = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
NO_TARGET = {"git config --global --add safe.directory"}
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_each_step_calls_a_make_target_that_exists(path: Path) -> None:
    for command in (step["run"] for step in steps(path) if "run" in step):
        if not any(command.startswith(allowed) for allowed in NO_TARGET):
            called = re.match(r'make ("\$TARGET"|[a-z-]+)', command)
            assert called is not None, command
            assert called[1] == '"$TARGET"' or called[1] in TARGETS, command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_and_containers_are_pinned_by_their_content(path: Path) -> None:
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
    for job in read(path)["jobs"].values():
        assert re.search(r"@sha256:[0-9a-f]{64}$", job.get("container", "@sha256:" + "0" * 64))


@pytest.mark.attack
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_expression_of_an_event_gets_into_a_shell(path: Path) -> None:
    assert [step["run"] for step in steps(path) if "${{" in step.get("run", "")] == []
    assert "pull_request_target" not in path.read_text()


@pytest.mark.attack
def test_only_the_job_that_publishes_can_sign_and_push() -> None:
    assert read(ROOT / ".github/workflows/ci.yaml")["permissions"] == {"contents": "read"}
    release = read(ROOT / ".github/workflows/release.yaml")
    assert release["permissions"] == {}
    signing = {name for name, job in release["jobs"].items() if "id-token" in job["permissions"]}
    assert signing == {"publish"}
    assert release["jobs"]["publish"]["environment"] == "release"
    assert [job["permissions"] for name, job in release["jobs"].items() if name in {"build", "compare"}] == [
        {"contents": "read"}
    ] * 2


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_has_what_github_asks_for(path: Path) -> None:
    form = read(path)
    assert form.keys() <= {"name", "description", "title", "labels", "assignees", "body"}
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert fields
    assert len({field["id"] for field in fields}) == len(fields)
    for field in form["body"]:
        assert field["type"] in KINDS
        assert field["attributes"]["value" if field["type"] == "markdown" else "label"]

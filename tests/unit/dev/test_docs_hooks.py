"""Links of the sources are paths of the repository; on the site they are links between its pages."""

import logging
from pathlib import Path

import pytest
from torpor_docs import hooks

_ADDED = {"examples/x.md": "examples/x.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


@pytest.mark.parametrize(
    ("source", "link", "on_the_site"),
    [
        ("docs/concepts/workflow.md", "taskrun.md#states", "taskrun.md#states"),
        ("docs/concepts/workflow.md", "../adr/0001-plan-returns-needs.md", "../adr/0001-plan-returns-needs.md"),
        ("docs/index.md", "../CHANGELOG.md", "changelog.md"),
        ("examples/x.md", "../docs/concepts/workflow.md", "../concepts/workflow.md"),
        ("CHANGELOG.md", "docs/install.md", "install.md"),
        ("CONTRIBUTING.md", "docs/adr/", "adr/index.md"),
        ("docs/index.md", "https://example.org/x.md", "https://example.org/x.md"),
    ],
)
def test_a_link_of_the_repository_is_one_of_the_site(source: str, link: str, on_the_site: str) -> None:
    assert hooks.relinked(f"see [it]({link}).", source, _ADDED) == f"see [it]({on_the_site})."


def test_code_is_left_alone() -> None:
    text = "```md\n[it](../CHANGELOG.md)\n```"
    assert hooks.relinked(text, "docs/index.md", _ADDED) == text


def test_a_link_to_a_file_that_is_not_in_the_site_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="mkdocs.hooks.torpor"):
        hooks.relinked("[it](../wire/torpor_wire/retry.py)", "docs/index.md", _ADDED)
    assert "docs/index.md links ../wire/torpor_wire/retry.py, which is not a page of the site" in caplog.text


def test_a_link_that_works_on_the_site_alone_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="mkdocs.hooks.torpor"):
        hooks.relinked("[it](changelog.md)", "docs/install.md", _ADDED)
    assert "docs/install.md links changelog.md, which is not a page of the site" in caplog.text


def test_a_navigation_folder_becomes_its_pages_in_the_order_of_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_ROOT", tmp_path)
    (tmp_path / "docs/adr").mkdir(parents=True)
    (tmp_path / "docs/adr/index.md").write_text("[2](0002-y.md), [1](0001-x.md)")
    pages = ["concepts/index.md", "adr/0001-x.md", "adr/index.md", "adr/0002-y.md"]
    assert hooks.expanded([{"Decisions": "adr/"}], pages) == [
        {"Decisions": ["adr/index.md", "adr/0002-y.md", "adr/0001-x.md"]}
    ]

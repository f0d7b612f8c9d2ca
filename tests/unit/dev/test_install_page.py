"""docs/install.md lists what the manifest creates, and manifests/uninstall.sh knows every role of it."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from torpor_dev import versions

ROOT = Path(__file__).parents[3]


@cache
def installed() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "manifests/install.yaml").read_text()))


def listed() -> Iterator[tuple[str, str]]:
    """Kind and name, as the table of the page has them: kinds in its first column, names in its second."""
    page = (ROOT / "docs/install.md").read_text()
    table = page.partition("## What the manifest creates")[2].partition("\n## ")[0]
    for row in table.splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 3:
            for kind in cells[0].split(", "):
                for name in re.findall(r"`([^`]+)`", cells[1]):
                    yield kind, name


def test_the_page_names_the_oldest_version_of_kubernetes() -> None:
    assert f"| Kubernetes {versions.OLDEST_KUBERNETES} or later |" in (ROOT / "docs/install.md").read_text()


def test_the_page_lists_every_object_and_no_other() -> None:
    assert set(listed()) == {(each["kind"], each["metadata"]["name"]) for each in installed()}


def test_uninstalling_deletes_the_bindings_of_every_role() -> None:
    patterns = re.findall(r"ClusterRole/([a-z-]+)(\*?)", (ROOT / "manifests/uninstall.sh").read_text())
    for role in (each["metadata"]["name"] for each in installed() if each["kind"] == "ClusterRole"):
        assert any(role.startswith(name) if star else role == name for name, star in patterns), role


def test_uninstalling_finds_every_object_of_the_cluster_by_its_label() -> None:
    for each in installed():
        assert each["metadata"]["labels"]["app.kubernetes.io/part-of"] == "torpor"


def test_uninstalling_deletes_every_kind() -> None:
    kinds = {each["metadata"]["name"] for each in installed() if each["kind"] == "CustomResourceDefinition"}
    script = (ROOT / "manifests/uninstall.sh").read_text()
    deleted = re.search(r"delete crd (.*?) --ignore-not-found", script, re.DOTALL)
    assert deleted is not None
    assert set(re.findall(r"[a-z]+\.torpor\.dev", deleted[1])) == kinds

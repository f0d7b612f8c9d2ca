"""Hooks of MkDocs: adds pages from outside docs/, builds the navigation, and keeps links valid in both places.

Links in the sources are paths of the repository, so that they work in an editor and in a web view of the repository.
Must not fetch anything.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parents[2]
_LOG = logging.getLogger("mkdocs.hooks.torpor")
_DOCS = "docs/"
_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "dev/README.md": "dev.md",
}
_FOLDERS = ("examples",)
_SUFFIXES = {".md", ".yaml", ".py", ".toml", ""}
_DECISIONS = "adr/index.md"
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_SCHEME = re.compile(r"^([a-z]+:|/)")
_FOREIGN = re.compile(r"<(?:script|link|img)\b[^>]*\b(?:src|href)=\"?https?://(?!torpor\.dev)[^>]*>")


def outside() -> dict[str, str]:
    """Files of the repository that are in the site besides docs/: the path of each, and its place in the site."""
    published = [path for folder in _FOLDERS for path in (_ROOT / folder).rglob("*") if _published(path)]
    paths = [path.relative_to(_ROOT).as_posix() for path in published]
    return _PAGES | {path: path for path in sorted(paths)}


def _published(path: Path) -> bool:
    return path.is_file() and path.suffix in _SUFFIXES and "__pycache__" not in path.parts


def site_path(path: str, added: dict[str, str]) -> str | None:
    """The place in the site of a file of the repository; None if it is not in the site."""
    if path == "docs/adr":
        return _DECISIONS
    return path.removeprefix(_DOCS) if path.startswith(_DOCS) else added.get(path)


def relinked(markdown: str, source: str, added: dict[str, str]) -> str:
    """The text of the page `source` with each link to a file of the repository as a link within the site."""
    page = site_path(source, added) or source

    def link(match: re.Match[str]) -> str:
        target, anchor = match[2], match[3] or ""
        if _SCHEME.match(target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = site_path(path, added)
        if place is None or not (path in added or (_ROOT / path).exists()):
            _LOG.warning("%s links %s, which is not a page of the site", source, target)
            return match[0]
        return f"{match[1]}{posixpath.relpath(place, posixpath.dirname(page) or '.')}{anchor}{match[4]}"

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def expanded(entry: Any, pages: list[str]) -> Any:
    """An entry of the navigation with each folder replaced by its pages."""
    match entry:
        case dict():
            return {name: expanded(value, pages) for name, value in entry.items()}
        case list():
            return [expanded(each, pages) for each in entry]
        case str() if entry.endswith("/"):
            return _in_order(entry, [page for page in pages if page.startswith(entry)])
        case _:
            return entry


def _in_order(folder: str, pages: list[str]) -> list[str]:
    index = (_ROOT / _DOCS / folder / "index.md").read_text()
    linked = [f"{folder}{match[2]}" for match in _LINK.finditer(index)]
    for page in pages:
        if page not in linked and not page.endswith("/index.md"):
            _LOG.warning("%sindex.md does not link %s", folder, page)
    return sorted(pages, key=lambda page: linked.index(page) if page in linked else -1)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/, then build the navigation from what there is."""
    for path, place in outside().items():
        files.append(File.generated(config, place, abs_src_path=str(_ROOT / path)))
    pages = [file.src_uri for file in files.documentation_pages()]
    config.nav = expanded(config.nav, pages)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Rewrite the links of a page; one without sections gets the room of its table of contents."""
    if not re.search(r"^## ", markdown, re.MULTILINE):
        page.meta.setdefault("hide", ["toc"])
    added = outside()
    sources = {place: path for path, place in added.items()}
    return relinked(markdown, sources.get(page.file.src_uri, _DOCS + page.file.src_uri), added)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """Warn of anything that a reader's browser would load from another host."""
    for match in _FOREIGN.finditer(output):
        _LOG.warning("%s loads from another host: %s", page.file.src_uri, match[0])
    return output

"""Checks a page with axe against WCAG 2.2 AA. Must not leave anything in the page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page

_SOURCE = Path(__file__).resolve().parents[3] / "ui/web/node_modules/axe-core/axe.min.js"
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN = """async (tags) => {
  const result = await axe.run(document, {runOnly: {type: "tag", values: tags}, resultTypes: ["violations"]});
  return result.violations.map((violation) => ({
    rule: violation.id,
    help: violation.help,
    nodes: violation.nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`),
  }));
}"""


class NoAxeError(Exception):
    """axe-core is not there. It comes with the packages of ui/web: `make ui`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessibilityViolation:
    """A rule that the page breaks, and the elements that break it."""

    rule: str
    help: str
    nodes: tuple[str, ...]


async def violations(page: Page) -> list[AccessibilityViolation]:
    """What axe finds in the page as it is now.

    Raises:
        NoAxeError: its package is not installed.
    """
    if not _SOURCE.exists():
        raise NoAxeError(f"{_SOURCE} is missing; `make ui` installs the packages of the page")
    # The page's policy forbids inline scripts. `evaluate` goes around it, as the tools of a developer do.
    await page.evaluate(_SOURCE.read_text())
    results: list[dict[str, Any]] = await page.evaluate(_RUN, _TAGS)
    return [
        AccessibilityViolation(rule=result["rule"], help=result["help"], nodes=tuple(result["nodes"]))
        for result in results
    ]

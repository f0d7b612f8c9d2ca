"""Lints Workflows that tests have as JSON."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from torpor_cli.linting import check, triggers
from torpor_cli.linting.finding import Finding
from torpor_cli.linting.sources import SourceFile


@cache
def classes() -> triggers.Classes:
    return triggers.classes({})


def lint_text(text: str) -> Sequence[Finding]:
    (checked,) = check.check([SourceFile(name="file.yaml", text=text)], classes())
    return checked.findings


def lint(body: Any) -> Sequence[Finding]:
    """The findings of an object, which is JSON and so YAML."""
    return lint_text(json.dumps(body))


def messages(body: Any) -> list[str]:
    return [finding.message for finding in lint(body)]

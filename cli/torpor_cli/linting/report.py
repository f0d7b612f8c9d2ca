"""Writes findings as text, as JSON, or as workflow commands of GitHub Actions. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from torpor_wire.text import printable_line

from torpor_cli.linting.check import Checked
from torpor_cli.linting.finding import Finding, Severity


def errors(checked: Sequence[Checked]) -> int:
    """Return the number of errors."""
    return sum(finding.severity is Severity.ERROR for file in checked for finding in file.findings)


def text(checked: Sequence[Checked]) -> Iterator[str]:
    """Yield a line a finding: `file:line:column: severity: message [rule]`."""
    for finding in _findings(checked):
        where = f"{finding.file}:{finding.line}:{finding.column}"
        yield printable_line(f"{where}: {finding.severity}: {finding.message} [{finding.rule}]")


def github(checked: Sequence[Checked]) -> Iterator[str]:
    """Yield a workflow command a finding, which GitHub shows beside the line."""
    for finding in _findings(checked):
        title = _property(f"torpor {finding.rule}")
        place = f"file={_property(finding.file)},line={finding.line},col={finding.column},title={title}"
        yield f"::{finding.severity} {place}::{_data(printable_line(finding.message))}"


def as_json(checked: Sequence[Checked]) -> str:
    """Return one JSON object with all findings."""
    findings = _findings(checked)
    counted = {
        "files": len(checked),
        "workflows": sum(file.workflows for file in checked),
        "others": sum(file.others for file in checked),
        "errors": errors(checked),
        "warnings": len(findings) - errors(checked),
    }
    return json.dumps(counted | {"findings": [asdict(finding) for finding in findings]}, indent=2)


def summary(checked: Sequence[Checked]) -> str:
    """Return the counts as a sentence."""
    error_count = errors(checked)
    warnings = len(_findings(checked)) - error_count
    workflows = sum(file.workflows for file in checked)
    others = sum(file.others for file in checked)
    objects = [*([_count(workflows, "workflow")] if workflows or not others else [])]
    objects += [_count(others, "other object" if workflows else "object")] if others else []
    counts = ", ".join((*objects, _count(error_count, "error"), _count(warnings, "warning")))
    return f"{_count(len(checked), 'file')}: {counts}"


def _findings(checked: Sequence[Checked]) -> list[Finding]:
    return [finding for file in checked for finding in file.findings]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable_line(text)).replace(":", "%3A").replace(",", "%2C")

"""Turns the files into findings, each with its place."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torpor_cli.linting import kinds, objects, yaml_documents
from torpor_cli.linting.finding import FilePosition, Finding, LintProblem, LintRule, Path, Severity, dotted
from torpor_cli.linting.sources import SourceFile
from torpor_cli.linting.triggers import Classes
from torpor_cli.linting.yaml_documents import Document, InvalidYaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The findings of one file, and how many Workflows and other objects of Torpor it has."""

    file: str
    workflows: int = 0
    others: int = 0
    findings: tuple[Finding, ...] = ()


def check(sources: Iterable[SourceFile], classes: Classes) -> Iterator[Checked]:
    """Yield the findings of each file, by line."""
    for source in sources:
        yield _check_file(source, classes)


def _check_file(source: SourceFile, classes: Classes) -> Checked:
    if source.error:
        return Checked(file=source.name, findings=(_at(source.name, FilePosition(), LintRule.FILE, source.error),))
    findings: list[Finding] = []
    counts: Counter[str] = Counter()
    for document in yaml_documents.read(source.text):
        if isinstance(document, InvalidYaml):
            findings.append(_at(source.name, document.at, LintRule.YAML, document.message))
            continue
        kinds_here = [kind for _, body in _objects(document.value) if (kind := kinds.kind_of(body)) is not None]
        counts.update(kinds_here)
        for path, body in _objects(document.value):
            findings += [_finding(source.name, document, path, problem) for problem in _problems(body, classes)]
        if kinds_here:
            findings += [_finding(source.name, document, (), problem) for problem in document.problems]
    if source.named and not counts and not findings:
        message = f"the file has no {', '.join(list(kinds.PLURALS)[:-1])} or {kinds.BACKFILL}"
        findings.append(_at(source.name, FilePosition(), LintRule.FILE, message, Severity.WARNING))
    findings.sort(key=lambda finding: (finding.line, finding.column))
    workflows = counts.pop(kinds.WORKFLOW, 0)
    unique = tuple(dict.fromkeys(findings))
    return Checked(file=source.name, workflows=workflows, others=counts.total(), findings=unique)


def _objects(value: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each object of a document with its path; a List has several."""
    match value:
        case {"kind": "List", "items": list() as items}:
            yield from ((("items", index), item) for index, item in enumerate(items) if isinstance(item, dict))
        case dict():
            yield (), value
        case _:
            return


def _problems(body: dict[str, Any], classes: Classes) -> Iterator[LintProblem]:
    if (problem := kinds.problem(body)) is not None:
        yield problem
    if (kind := kinds.kind_of(body)) is not None:
        yield from objects.problems(body, kind, classes)


def _finding(file: str, document: Document, prefix: Path, problem: LintProblem) -> Finding:
    at = document.position((*prefix, *problem.path))
    return Finding(
        file=file,
        line=at.line,
        column=at.column,
        severity=problem.severity,
        rule=problem.rule,
        message=problem.message,
        path=dotted(problem.path),
    )


def _at(file: str, at: FilePosition, rule: LintRule, message: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(file=file, line=at.line, column=at.column, severity=severity, rule=rule, message=message)

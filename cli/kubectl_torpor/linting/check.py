"""Turns the files into findings, each with its place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kubectl_torpor.linting import workflow, yaml_documents
from kubectl_torpor.linting.finding import Finding, Path, Position, Problem, Rule, Severity, dotted
from kubectl_torpor.linting.sources import Source
from kubectl_torpor.linting.triggers import Classes
from kubectl_torpor.linting.yaml_documents import Broken, Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The findings of one file, and how many Workflows it has."""

    file: str
    workflows: int
    findings: tuple[Finding, ...]


def check(sources: Iterable[Source], classes: Classes) -> Iterator[Checked]:
    """Yield the findings of each file, by line."""
    for source in sources:
        yield _check_file(source, classes)


def _check_file(source: Source, classes: Classes) -> Checked:
    if source.error:
        return Checked(file=source.name, workflows=0, findings=(_at(source.name, Position(), Rule.FILE, source.error),))
    findings: list[Finding] = []
    workflows = 0
    for document in yaml_documents.read(source.text):
        if isinstance(document, Broken):
            findings.append(_at(source.name, document.at, Rule.YAML, document.message))
            continue
        for path, body in _objects(document.value):
            workflows += workflow.is_workflow(body)
            findings += [_finding(source.name, document, path, one) for one in _problems(body, classes)]
        if any(workflow.is_workflow(body) for _, body in _objects(document.value)):
            findings += [_finding(source.name, document, (), one) for one in document.problems]
    if source.named and not workflows and not findings:
        message = "the file has no Workflow"
        findings.append(_at(source.name, Position(), Rule.FILE, message, Severity.WARNING))
    findings.sort(key=lambda one: (one.line, one.column))
    return Checked(file=source.name, workflows=workflows, findings=tuple(dict.fromkeys(findings)))


def _objects(value: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each object of a document with its path; a List has several."""
    match value:
        case {"kind": "List", "items": list() as items}:
            yield from ((("items", index), item) for index, item in enumerate(items) if isinstance(item, dict))
        case dict():
            yield (), value
        case _:
            return


def _problems(body: dict[str, Any], classes: Classes) -> Iterator[Problem]:
    if (problem := workflow.kind_problem(body)) is not None:
        yield problem
    if workflow.is_workflow(body):
        yield from workflow.problems(body, classes)


def _finding(file: str, document: Document, prefix: Path, problem: Problem) -> Finding:
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


def _at(file: str, at: Position, rule: Rule, message: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(file=file, line=at.line, column=at.column, severity=severity, rule=rule, message=message)

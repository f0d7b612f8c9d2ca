"""Turns files into findings, each with its place, by all checks of each object.

The checks run in the order in which API server, operator and triggerer make them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_cli.linting import (
    bundled,
    cel_rules,
    default_fields,
    graph,
    kinds,
    metadata,
    metrics,
    peer_syntax,
    schedule,
    schema,
    triggers,
    values,
    yaml_documents,
)
from torpor_cli.linting.finding import FilePosition, Finding, LintProblem, LintRule, Path, Severity, dotted
from torpor_cli.linting.kinds import Embedded
from torpor_cli.linting.objects import service_accounts, template_runs
from torpor_cli.linting.objects.template_runs import Templates
from torpor_cli.linting.sources import SourceFile
from torpor_cli.linting.triggers import Classes
from torpor_cli.linting.yaml_documents import Document, InvalidYaml

_OF_POLICIES = frozenset({"in", "group", "hook", "name", "spec", "workflow"})
"""Fields whose problems the policies report first, in other words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The findings of one file, and how many Workflows and other objects of Torpor it has."""

    file: str
    workflows: int = 0
    others: int = 0
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherObjects:
    """What the objects of a file are checked against: its templates, and the accounts that tasks may not use."""

    templates: Templates
    unmarked_accounts: frozenset[service_accounts.FileAccount]


def check(sources: Iterable[SourceFile], classes: Classes) -> Iterator[Checked]:
    """Yield the findings of each file, by line."""
    for source in sources:
        yield _check_file(source, classes)


def _check_file(source: SourceFile, classes: Classes) -> Checked:
    if source.error:
        return Checked(file=source.name, findings=(_at(source.name, FilePosition(), LintRule.FILE, source.error),))
    findings: list[Finding] = []
    counts: Counter[str] = Counter()
    documents = list(yaml_documents.read(source.text))
    read = [document for document in documents if not isinstance(document, InvalidYaml)]
    objects = [body for document in read for _, body in _objects(document.value)]
    others = OtherObjects(
        templates=template_runs.templates_of(objects), unmarked_accounts=service_accounts.unmarked(objects)
    )
    for document in documents:
        if isinstance(document, InvalidYaml):
            findings.append(_at(source.name, document.at, LintRule.YAML, document.message))
            continue
        kinds_here = [kind for _, body in _objects(document.value) if (kind := kinds.kind_of(body)) is not None]
        counts.update(kinds_here)
        for path, body in _objects(document.value):
            findings += [_finding(source.name, document, path, problem) for problem in _problems(body, classes, others)]
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


def _problems(body: dict[str, Any], classes: Classes, others: OtherObjects) -> Iterator[LintProblem]:
    if (problem := kinds.problem(body)) is not None:
        yield problem
    if (kind := kinds.kind_of(body)) is not None:
        yield from problems(body, kind, classes)
        yield from template_runs.problems(body, kind, others.templates)
        yield from service_accounts.problems(body, kind, others.unmarked_accounts)


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


def problems(document: Mapping[str, Any], kind: str, classes: Classes) -> Iterator[LintProblem]:
    """Yield everything that is wrong with an object of this kind."""
    openapi = bundled.schema(kinds.PLURALS[kind])
    checked = {
        **openapi,
        "properties": {name: field for name, field in openapi["properties"].items() if name != "metadata"},
    }
    ours = {name: value for name, value in document.items() if name != "metadata"}
    yield from schema.unknown_fields(ours, checked)
    yield from metadata.violations(document.get("metadata"))
    # The API server ignores the status of a new object.
    stored = schema.without_nulls({name: value for name, value in ours.items() if name != "status"}, checked)
    invalid = list(schema.violations(stored, checked))
    yield from invalid
    blocking = [problem.path for problem in invalid if schema.is_blocking(problem)]
    yield from peer_syntax.problems(ours.get("spec"), ("spec",))
    yield from cel_rules.crd_violations(stored, checked, blocking)
    if blocking:
        yield from _expressions(kind, stored)
    else:
        named = {**stored, "metadata": document.get("metadata") or {}}
        of_policies = list(cel_rules.policy_violations(named, kinds.PLURALS[kind]))
        yield from of_policies
        rejected = [problem for problem in of_policies if problem.severity is Severity.ERROR]
        # The model of the operator rejects this field too, and then reports nothing else.
        unreadable = [*invalid, *(problem for problem in rejected if problem.path[-1] == "python")]
        yield from _semantics(
            kind,
            schema.without(stored, {problem.path for problem in unreadable if problem.path[-1] != "name"}),
            rejected,
            classes,
        )


def _expressions(kind: str, document: Mapping[str, Any]) -> Iterator[LintProblem]:
    """Yield the problems of expressions beside what the schema rejects, which the API server would report first."""
    spec = document.get("spec")
    embedded = kinds.embedded_workflow(kind, spec) if isinstance(spec, Mapping) else None
    if embedded is not None and isinstance(embedded.spec.get("tasks"), list):
        yield from map(embedded.relocated, graph.problems({"spec": embedded.spec}))


def _semantics(
    kind: str, document: Mapping[str, Any], rejected: Sequence[LintProblem], classes: Classes
) -> Iterator[LintProblem]:
    """Yield what operator and triggerer report of an object that the API server admits."""
    if kind == kinds.SCHEDULE:
        yield from schedule.problems(document["spec"], [problem.path for problem in rejected], classes)
    embedded = kinds.embedded_workflow(kind, document["spec"])
    if embedded is not None:
        yield from map(embedded.relocated, _unused_bodies(kind, embedded.written))
    if embedded is not None and embedded.spec.get("tasks"):
        yield from _workflow(embedded, rejected, classes)


def _unused_bodies(kind: str, written: Mapping[str, Any]) -> Iterator[LintProblem]:
    """Yield the bodies that no task uses. Those of a template are for other Workflows, too."""
    used = {default_fields.body_name(task) for task in written.get("tasks") or ()}
    for name in written.get("bodies") or {} if kind not in kinds.TEMPLATES else {}:
        if name not in used:
            message = f"body {name}: no task uses it"
            yield LintProblem(
                path=("spec", "bodies", name), rule=LintRule.GRAPH, message=message, severity=Severity.WARNING
            )


def _workflow(embedded: Embedded, rejected: Sequence[LintProblem], classes: Classes) -> Iterator[LintProblem]:
    """Yield the problems of a Workflow's spec that the policies did not report."""
    document = {"spec": embedded.spec}
    fields = {problem.path for problem in rejected}
    for problem in map(embedded.relocated, graph.problems(document)):
        covered = problem.path in fields or (problem.path[-2:-1] == ("after",) and problem.path[:-1] in fields)
        if not covered and not (rejected and problem.path[-1] in _OF_POLICIES):
            yield problem
    yield from map(embedded.relocated, triggers.problems(embedded.spec, classes))
    yield from map(embedded.relocated, values.problems(document))
    yield from map(embedded.relocated, metrics.problems(embedded.spec))

"""The files from which the operators of a DAG take templates, such as `sql="load.sql"`, and those that they include."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta

from torpor_airflow.conversion import operator_kind
from torpor_airflow.conversion.finding import ConversionFinding

_FILES_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFiles:
    """The files of a DAG by the task that names each one first, and what the reader has to know."""

    paths: Mapping[Path, str] = field(default_factory=dict)
    findings: Sequence[ConversionFinding] = ()


def resolve(dag: Any) -> TemplateFiles:
    """Replace the names of files by their content, as Airflow's DAG processor does, and return the files."""
    paths: dict[Path, str] = {}
    findings = []
    for operator in dag.tasks:
        missing = [each for name in _names(operator) for each in _add(dag, name, operator.task_id, paths)]
        for each in missing:
            text = f"template {each}: there is no such text beside the DAG file or in template_searchpath"
            findings.append(ConversionFinding(subject=operator.task_id, text=text, is_loss=False))
        if not missing and not operator.is_mapped:
            operator.resolve_template_files()
    return TemplateFiles(paths=paths, findings=findings)


def _add(dag: Any, name: str, task_id: str, paths: dict[Path, str]) -> Iterator[str]:
    """Add a file and those that it includes, and yield the names of those that are missing."""
    environment = dag.get_template_env()
    waiting, seen = [name], set[str]()
    while waiting and len(seen) < _FILES_MAX:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        try:
            source, path, _ = environment.loader.get_source(environment, each)
        except (jinja2.TemplateNotFound, UnicodeDecodeError):
            yield each
            continue
        if path:
            paths.setdefault(Path(path).absolute(), task_id)
        waiting += _included(environment, source)


def _included(environment: Any, source: str) -> list[str]:
    """Return the names that a template includes, extends or imports, without those that it computes."""
    try:
        return [each for each in meta.find_referenced_templates(environment.parse(source)) if each]
    except jinja2.TemplateSyntaxError:
        return []  # rendering reports it with the line


def _names(operator: Any) -> Iterator[str]:
    """Yield the texts of the template fields of an operator that Airflow takes for names of files."""
    endings = tuple(operator.template_ext or ())
    if not endings:
        return
    fields = operator.template_fields
    given: list[Any] = [getattr(operator, name, None) for name in fields]
    if operator.is_mapped:
        given = [{name: value for name, value in operator.partial_kwargs.items() if name in fields}]
        given.append(getattr(operator._get_specified_expand_input(), "value", None))  # noqa: SLF001 - no public form
    for value in given:
        yield from (text for text in operator_kind.texts_in(value) if text.endswith(endings))

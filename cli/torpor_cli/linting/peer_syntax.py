"""Finds expressions of Argo, Tekton and Airflow in a manifest. Torpor leaves them as they are. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torpor_cli.linting.finding import LintProblem, LintRule, Path, Severity

_BRACES = re.compile(r"\{\{(?P<body>[^{}]{1,256})\}\}")
_OF_ENGINE = re.compile(r"=|[A-Za-z_]")
"""How the inside of braces begins. A Go template, as of `docker inspect --format`, begins with a dot."""
_PARENTHESES = re.compile(
    r"\$\((?P<body>(?:params|tasks|finally|context|workspaces|results|steps|inputs|outputs|tt|body)[.\[][^()]{0,200})\)"
)
_NAME = r"([\w-]+)"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (rf"(?:inputs|workflow)\.parameters\.{_NAME}", "${{params.{}}}"),
        (rf"params\.{_NAME}(?:\[\*\])?", "${{params.{}}}"),
        (rf"params\[[\"']{_NAME}[\"']\](?:\[\*\])?", "${{params.{}}}"),
        (rf"(?:inputs|tt)\.params\.{_NAME}", "${{params.{}}}"),
        (rf"(?:tasks|steps)\.{_NAME}\.outputs\.(?:result|parameters\.[\w-]+)", "${{tasks.{}.result}}"),
        (rf"tasks\.{_NAME}\.results\.{_NAME}(?:\[\*\])?", "${{tasks.{}.result.{}}}"),
        (rf"(?:tasks|steps)\.{_NAME}\.status", "${{tasks.{}.state}}"),
        (r"item", "${{mapping.value}}"),
        (rf"item\.{_NAME}", "${{mapping.value.{}}}"),
        (r"workflow\.name|context\.pipelineRun\.name|run_id", "${{run.name}}"),
        (r"workflow\.status|tasks\.status", "${{run.state}}"),
        (r"ds|logical_date|workflow\.(?:creationTimestamp|scheduledTime)", "${{run.at}}"),
    )
)
"""What an expression of another engine is in Torpor."""
_OPERATOR, _RENDERED = "operator", frozenset({"arguments"})
"""The arguments beside the class of an operator have templates that the operator renders (ADR 0078)."""


def problems(value: Any, path: Path) -> Iterator[LintProblem]:
    """Yield a warning for each text with such an expression."""
    match value:
        case str():
            yield from _of_text(value, path)
        case Mapping():
            for name, child in value.items():
                if not (name in _RENDERED and _OPERATOR in value):
                    yield from problems(child, (*path, name))
        case list():
            for index, child in enumerate(value):
                yield from problems(child, (*path, index))
        case _:
            return


def _of_text(text: str, path: Path) -> Iterator[LintProblem]:
    matches = [match for pattern in (_BRACES, _PARENTHESES) for match in pattern.finditer(text)]
    for written, body in dict.fromkeys((match[0], match["body"].strip("- \t\r\n")) for match in matches):
        if not _OF_ENGINE.match(body):
            continue
        torpor = form(body)
        if _is_cel(path) and torpor.endswith("}"):
            torpor = f"{torpor.removeprefix('${').removesuffix('}')}, with texts in quotes"
        message = f"{written} is not evaluated, since it is not an expression of Torpor; write {torpor}"
        yield LintProblem(path=path, rule=LintRule.PEER_SYNTAX, severity=Severity.WARNING, message=message)


def _is_cel(path: Path) -> bool:
    """Whether the field is one expression, which has no `${...}` around it: of a task, its retries, or a Schedule."""
    of_expressions = len(path) > 1 and (isinstance(path[-2], int) or path[-2] in {"retries", "spec"})
    return of_expressions and path[-1] in {"when", "failWhen", "result"}


def form(body: str) -> str:
    """Return what an expression of another engine is in Torpor, or where to read about it."""
    for pattern, template in _FORMS:
        if match := pattern.fullmatch(body):
            return template.format(*(name.replace("-", "_") for name in match.groups()))
    return "${...}, see docs/reference/expressions.md"

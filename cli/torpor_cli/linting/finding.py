"""What a check reports: a problem at a path of a document, and the finding with its place in a file. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"
"""Keys and indexes from the root of a document."""


class Severity(StrEnum):
    """How serious a finding is. Only errors change the exit code."""

    ERROR = "error"
    WARNING = "warning"


class LintRule(StrEnum):
    """The id of the check that made a finding."""

    FILE = "file"
    YAML = "yaml"
    KIND = "kind"
    METADATA = "metadata"
    UNKNOWN_FIELD = "unknown-field"
    SCHEMA = "schema"
    CRD_RULE = "crd-rule"
    POLICY = "policy"
    GRAPH = "graph"
    EXPRESSION = "expression"
    PEER_SYNTAX = "peer-syntax"
    CRON = "cron"
    EXPAND = "expand"
    TRIGGER = "trigger"
    SECRET = "secret"  # noqa: S105 - the id of a check
    IMAGE = "image"
    PARAMS = "params"
    ACCOUNT = "service-account"
    SIZE = "size"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintProblem:
    """What is wrong at a path of a document."""

    path: Path
    rule: LintRule
    message: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePosition:
    """A place in a file; line and column count from 1."""

    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem with its place in a file. `path` is the field, such as `spec.tasks[0].name`."""

    file: str
    line: int
    column: int
    severity: Severity
    rule: LintRule
    message: str
    path: str = ""


def dotted(path: Sequence[str | int]) -> str:
    """Return a path as the API server writes it: `spec.tasks[0].args[my-day]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier() or part.replace("-", "_").isidentifier():
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text

"""What of a DAG has no counterpart, or needs something from the reader, with file and line. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionFinding:
    """One finding. A loss means that the result differs from the DAG."""

    subject: str
    text: str
    is_loss: bool = True


def line_of(source: Sequence[str], subject: str) -> int:
    """Return the line that names a task or a DAG: the text of its id, else the function of that name, else 1."""
    name = re.escape(subject.rpartition(".")[2])
    return next(iter(_lines(source, rf"""["']{name}["']""", rf"\bdef {name}\(")), 1)


def lines_of_dag(source: Sequence[str], dag_id: str) -> Sequence[int]:
    """Return the lines that name a DAG. If its id is computed, return those that create any DAG."""
    name = re.escape(dag_id)
    return _lines(source, rf"""["']{name}["']""", rf"\bdef {name}\(", r"\bDAG\(|^\s*@dag\b")


def _lines(source: Sequence[str], *patterns: str) -> Sequence[int]:
    """Return the lines that match the first pattern that any line matches."""
    for pattern in patterns:
        if found := [number for number, line in enumerate(source, start=1) if re.search(pattern, line)]:
            return found
    return []


def written(finding: ConversionFinding, file: str, source: Sequence[str]) -> str:
    """Return the finding as a line of a report."""
    kind = "not converted" if finding.is_loss else "note"
    return f"{file}:{line_of(source, finding.subject)}: {kind}: {finding.subject}: {finding.text}"

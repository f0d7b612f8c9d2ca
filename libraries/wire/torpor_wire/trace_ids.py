"""The ids of OpenTelemetry traces and spans, derived from uids of objects (W3C Trace Context). Pure.

Every component derives the same id for the same part of a run without asking another one. So a span that is exported
again after a restart has the id of the first one, and the pod of a segment knows its parent before any export.
"""

import hashlib
from typing import Literal, TypeAlias

SpanKind: TypeAlias = Literal["run", "task", "attempt", "segment", "wait"]

TRACEPARENT = "TRACEPARENT"
"""The variable of a task's container; tools such as otel-cli read it, too."""
_SAMPLED = "01"


def trace_id(workflow_uid: str) -> str:
    """The trace of a run: 32 hexadecimal digits."""
    return _digits("trace", workflow_uid, length=32)


def span_id(kind: SpanKind, uid: str, *numbers: int) -> str:
    """The span of a part of a run: 16 hexadecimal digits.

    A run has the uid of its Workflow and the number of its clears. The others have the uid of the TaskRun. An attempt
    has its number, a wait also its segment, and a segment also its launch.
    """
    return _digits(kind, uid, *map(str, numbers), length=16)


def traceparent(workflow_uid: str, taskrun_uid: str, attempt: int, segment: int, launch: int) -> str:
    """The value of the variable for the pod of a segment."""
    parent = span_id("segment", taskrun_uid, attempt, segment, launch)
    return f"00-{trace_id(workflow_uid)}-{parent}-{_SAMPLED}"


def _digits(*words: str, length: int) -> str:
    """Digits of a hash. All zeros would be invalid, and do not occur in practice."""
    return hashlib.sha256("/".join(words).encode()).hexdigest()[:length]

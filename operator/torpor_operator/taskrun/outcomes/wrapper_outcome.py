"""The outcome that `torpor-tool run` wrote for its program: a result, or why there is none (ADR 0060). Pure and total.

The program runs in the same container and can write to the same file. So the wrapper's document has the nonce of the
pod, which the program does not get, and can only be a result: no program defers or skips by it.
"""

import json
from typing import Final

from torpor_wire.reason import Reason

from torpor_operator.taskrun.outcomes import container_outcome
from torpor_operator.taskrun.outcomes.container_outcome import (
    ArchivedResult,
    ContainerFailure,
    ContainerOutcome,
    ContainerResult,
    DocumentRules,
    InvalidOutcome,
)

_NO_DOCUMENT: Final = InvalidOutcome(
    reason=Reason.RESULT_INVALID,
    message="the wrapper of the program stored no result: a program whose container.result is set must neither write "
    "to /dev/termination-log nor end the wrapper, and may not defer or skip",
)


def parse(termination_message: str, nonce: str, outputs: frozenset[str] = frozenset()) -> ContainerOutcome:
    """The outcome of a container that exited with code 0 and whose program a wrapper started.

    `outputs` are the files that the wrapper may describe.
    """
    if not _is_document(termination_message):
        return _NO_DOCUMENT
    match container_outcome.parse(termination_message, DocumentRules(nonce=nonce, outputs=outputs)):
        case ContainerResult() | ArchivedResult() | InvalidOutcome() as outcome:
            return outcome
        case ContainerFailure(message=message):
            return InvalidOutcome(reason=Reason.RESULT_INVALID, message=message)
        case _:
            return _NO_DOCUMENT


def _is_document(termination_message: str) -> bool:
    try:
        value = json.loads(termination_message)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and container_outcome.MARK in value

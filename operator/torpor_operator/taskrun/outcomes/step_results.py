"""The result of a container task with steps: an object with the result of each, by its name (ADR 0061). Pure.

The outcome of a step is read from its own termination message, which no other container can write. If results are in
the archive, or too large together, the archive makes the object.
"""

import json
from dataclasses import dataclass, replace

from torpor_crds.models.files import StoredFile
from torpor_crds.models.program import Command, ContainerStep
from torpor_wire import canonical, constants
from torpor_wire.reason import Reason

from torpor_operator.model.pod import Pod
from torpor_operator.model.step_parts import StepPart
from torpor_operator.taskrun.outcomes import container_outcome, message_share, wrapper_outcome
from torpor_operator.taskrun.outcomes.container_outcome import (
    ArchivedResult,
    ContainerOutcome,
    ContainerResult,
    InvalidOutcome,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeStepResults:
    """The results of all steps, which do not fit into a TaskRun. `files` are the stored outputs of the last one."""

    parts: tuple[StepPart, ...]
    files: tuple[StoredFile, ...] = ()


def combined(container: Command, pod: Pod, last: ContainerOutcome) -> ContainerOutcome | LargeStepResults:
    """The results of all steps, which have ended with code 0. `last` is the outcome of the last one."""
    messages = dict(pod.init_messages)
    outcomes = [_of_step(step, messages.get(step.name, ""), pod) for step in container.earlier_steps]
    parts: list[StepPart] = []
    for step, outcome in zip(container.steps, [*outcomes, last], strict=True):
        match outcome:
            case ContainerResult(text=text):
                parts.append(StepPart(name=step.name, text="null" if text is None else text))
            case ArchivedResult(stored=stored):
                parts.append(StepPart(name=step.name, digest=stored.digest))
            case InvalidOutcome(reason=reason, message=message):
                return InvalidOutcome(reason=reason, message=f"step {step.name}: {message}")
            case _:
                return InvalidOutcome(
                    reason=Reason.RESULT_INVALID, message=f"step {step.name}: a step neither defers nor skips"
                )
    files = last.files if isinstance(last, ContainerResult | ArchivedResult) else ()
    if any(part.text is None for part in parts):
        return LargeStepResults(parts=tuple(parts), files=files)
    results: dict[str, canonical.Json] = {part.name: json.loads(part.text or "null") for part in parts}
    text = canonical.plain(results)
    if len(text.encode()) > constants.RESULT_MAX:
        return LargeStepResults(parts=tuple(parts), files=files)
    return replace(last, text=text) if isinstance(last, ContainerResult) else ContainerResult(text=text)


def _of_step(step: ContainerStep, message: str, pod: Pod) -> ContainerOutcome:
    """The outcome of a step, whose author does not permit documents."""
    if (cut := message_share.cut_message(message, pod.message_max)) is not None:
        return cut
    if step.is_wrapped:
        return wrapper_outcome.parse(message, pod.outcome_nonce)
    return container_outcome.parse(message, None)

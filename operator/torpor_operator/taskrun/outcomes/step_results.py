"""The result of a container task with steps: an object with the result of each, by its name (ADR 0061). Pure.

The outcome of a step is read from its own termination message, which no other container can write.
"""

import json
from dataclasses import replace

from torpor_crds.models.program import Command, ContainerStep
from torpor_wire import canonical, constants
from torpor_wire.reason import Reason

from torpor_operator.model.pod import Pod
from torpor_operator.taskrun.outcomes import container_outcome, message_share, wrapper_outcome
from torpor_operator.taskrun.outcomes.container_outcome import ContainerOutcome, ContainerResult, InvalidOutcome


def combined(container: Command, pod: Pod, last: ContainerOutcome) -> ContainerOutcome:
    """The results of all steps, which have ended with code 0. `last` is the outcome of the last one."""
    messages = dict(pod.init_messages)
    outcomes = [_of_step(step, messages.get(step.name, ""), pod) for step in container.earlier_steps]
    results: dict[str, canonical.Json] = {}
    for step, outcome in zip(container.steps, [*outcomes, last], strict=True):
        match outcome:
            case ContainerResult(text=text):
                results[step.name] = None if text is None else json.loads(text)
            case InvalidOutcome(reason=reason, message=message):
                return InvalidOutcome(reason=reason, message=f"step {step.name}: {message}")
            case _:
                return _invalid(f"step {step.name}: a result of a step is at most a termination message")
    text = canonical.plain(results)
    if (size := len(text.encode())) > constants.RESULT_MAX:
        return _invalid(f"the results of all steps have {size} bytes as JSON; the limit is {constants.RESULT_MAX}")
    return replace(last, text=text) if isinstance(last, ContainerResult) else ContainerResult(text=text)


def _of_step(step: ContainerStep, message: str, pod: Pod) -> ContainerOutcome:
    """The outcome of a step, whose author does not permit documents."""
    if (cut := message_share.cut_message(message, pod.message_max)) is not None:
        return cut
    if step.is_wrapped:
        return wrapper_outcome.parse(message, pod.outcome_nonce)
    return container_outcome.parse(message, None)


def _invalid(message: str) -> InvalidOutcome:
    return InvalidOutcome(reason=Reason.RESULT_INVALID, message=message)

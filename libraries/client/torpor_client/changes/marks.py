"""The request to end an instance as succeeded, skipped or failed without running it. Pure."""

import json

from torpor_views.model import RunView
from torpor_wire import constants, instance_paths

from torpor_client.errors import UsageError, UserError
from torpor_client.runs.instances import check_reference, instances_at
from torpor_client.runs.references import RunReference

STATES = ("succeeded", "skipped", "failed")


def check(wanted: RunReference, state: str, because: str, result: str | None) -> str:
    """Return the reason on one line. Raises UsageError for a mark that no run can take."""
    if wanted.task is None:
        raise UsageError(f"name a task: torpor mark {wanted.run}/TASK {state} --because TEXT")
    if state not in STATES:
        raise UsageError(f"there is no mark {state!r}; use {', '.join(STATES)}")
    because = " ".join(because.split())
    if not because:
        raise UsageError("--because is empty; write why")
    _check_result(state, result)
    return because


def request(run: RunView, wanted: RunReference, state: str, because: str, result: str | None) -> str:
    """Return the value of the annotation. Raises UserError for instances that the run does not have."""
    return request_of(instances(run, wanted), state, because, result)


def request_of(refs: list[str], state: str, because: str, result: str | None) -> str:
    """Return the value of the annotation for instances by their names."""
    text = f"{state} {','.join(refs)} because {because}"
    if len(text) + len(result or "") >= constants.CLEAR_MAX:
        raise UsageError(f"the mark has more than {constants.CLEAR_MAX:,} characters; mark fewer instances at once")
    return text


def instances(run: RunView, wanted: RunReference) -> list[str]:
    """Return the instances as the annotation names them. Raises UserError if a mapped task has none."""
    task = wanted.task or ""
    check_reference(wanted, run)
    known = run.task(task)
    if known is None or not known.several:
        return [task]
    paths = [f"{task}/{instance_paths.written(instance.path)}" for instance in instances_at(wanted, run)]
    if not paths:
        raise UserError(f"{task} has no instances yet; mark them once they exist")
    return paths


def _check_result(state: str, result: str | None) -> None:
    if result is None:
        return
    if state != "succeeded":
        raise UsageError("--result is for succeeded; other states have no result")
    try:
        json.loads(result)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--result {result[:80]}: this is not JSON: {str(error)[:200]}") from None

"""Names derived from content, so that creating an object twice is the same as creating it once.

The name of a TaskRun derives from Workflow, task and indexes; that of a pod from its TaskRun and launch. A hash of five
characters prevents collisions by truncation or dashes.
"""

import re
from collections.abc import Sequence

from torpor_wire import canonical, constants, times

OBJECT_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
_OBJECT_NAME = OBJECT_NAME_PATTERN.strip("^$")
_OBJECT_NAME_MAX = 253
_POD_NUMBERS = r"-a(\d{1,9})-s(\d{1,9})(?:-l(\d{1,9}))?$"
_LABEL_MAX = 63


def taskrun(
    workflow: str, workflow_uid: str, task: str, index: int = constants.UNMAPPED, groups: Sequence[int] = ()
) -> str:
    """Return `<workflow>-<task>[-<index>]-<hash>`, up to 50 characters. The name of the workflow is truncated first.

    In groups there are several indexes, outermost first.
    """
    mapped = "".join(f"-{number}" for number in (*groups, index) if number != constants.UNMAPPED)
    tail = f"{mapped}-{canonical.digest(workflow_uid, task, index, *groups)[:5]}"
    room = constants.NAME_MAX - len(tail)
    called = _label(task)[: room - 2]
    return f"{_label(workflow)[: room - len(called) - 1].rstrip('-.')}-{called}{tail}"


def run(schedule: str, key: str) -> str:
    """Return `<schedule>-<hash>`, up to 50 characters: the name of the run that an event started.

    `key` identifies the event: the uid of the Schedule and what `torpor_operator.schedules.plan` appends to it.
    """
    tail = f"-{canonical.digest(key)[:10]}"
    return _label(schedule)[: constants.NAME_MAX - len(tail)].rstrip("-.") + tail


def tick_key(uid: str, source: str, tick: float) -> str:
    """Return the key for `run` of a tick of a cron source, in seconds since the epoch.

    `uid` is that of the Schedule. A Schedule and its Backfills share the key.
    """
    return f"{uid}/{source}/{times.rfc3339(tick)}"


def manual_run_key(uid: str, value: str) -> str:
    """Return the key for `run` of a run that the annotation `torpor.dev/run` of the Schedule with this uid starts.

    `value` is the value of the annotation: the same value starts one run. The empty part is where the keys of events
    have the name of a source, so that no value is equal to a key of an event.
    """
    return f"{uid}//{value}"


def pod(taskrun_name: str, attempt: int, segment: int, launch: int) -> str:
    """Return `<taskrun>-a<attempt>-s<segment>[-l<launch>]`."""
    return f"{taskrun_name}-a{attempt}-s{segment}" + (f"-l{launch}" if launch else "")


def pod_numbers(name: str) -> tuple[int, int, int] | None:
    """Return attempt, segment and launch from the name of a pod; None for a name of another form."""
    match = re.search(_POD_NUMBERS, name, re.ASCII)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def chosen_run(name: str, attempt: int) -> str:
    """Return `<name>` for the first attempt, then `<name>-<attempt>`: the name that an author chose for a run."""
    return name if attempt <= 1 else f"{name}-{attempt}"


def child_run(taskrun_name: str, taskrun_uid: str, attempt: int) -> str:
    """Return `<taskrun>-<hash>`, up to 50 characters: the name of the run that an attempt of a TaskRun starts."""
    tail = f"-{canonical.digest(taskrun_uid, attempt)[:5]}"
    return taskrun_name[: constants.NAME_MAX - len(tail)].rstrip("-.") + tail


def claim(workflow: str, workflow_uid: str, volume: str) -> str:
    """Return the name of the PersistentVolumeClaim of a volume of a run, up to 50 characters."""
    return taskrun(workflow, workflow_uid, f"{volume}-volume")


def label(value: str) -> str:
    """Return a name as a label value: up to 63 characters, ending with a letter or a digit.

    A longer name is truncated and gets a hash, so that no two names share a label.
    """
    if len(value) <= _LABEL_MAX and value[-1:].isalnum():
        return value
    tail = f"-{canonical.digest(value)[:5]}"
    return value[: _LABEL_MAX - len(tail)].rstrip("-._") + tail


def is_object_name(name: str) -> bool:
    """Return whether it is a valid object name: a DNS subdomain, which is also safe in a shell."""
    return len(name) <= _OBJECT_NAME_MAX and re.fullmatch(_OBJECT_NAME, name) is not None


def _label(name: str) -> str:
    """Replace underscores of task names (`load_all`) with dashes (`load-all`)."""
    return name.lower().replace("_", "-")


def event_owner(uid: str) -> str:
    """Return the name under which the archive stores the event of the TaskRun with this uid."""
    return f"{uid}.event"


def step_owner(uid: str, step: str) -> str:
    """Return the name under which the archive stores the result of a step of the TaskRun with this uid."""
    return f"{uid}.step.{step}"


def file_owner(uid: str, file: str) -> str:
    """Return the name under which the archive stores an output of the TaskRun with this uid."""
    return f"{uid}.file.{file}"

"""Names derived from what a thing is, so that creating it twice is the same as creating it once.

A TaskRun is named by its Workflow, task and indexes; a pod by its TaskRun and the numbers of its launch. The five
characters of hash keep names apart where truncation or dashes would let two meet.
"""

import re
from collections.abc import Sequence

from torpor_wire import canonical, constants

OBJECT_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
_OBJECT_NAME = re.compile(OBJECT_NAME_PATTERN.strip("^$"))
_OBJECT_NAME_MAX = 253
_LABEL_MAX = 63


def taskrun(
    workflow: str, workflow_uid: str, task: str, index: int = constants.UNMAPPED, groups: Sequence[int] = ()
) -> str:
    """`<workflow>-<task>[-<index>]-<hash>`, 50 characters at most; the workflow's name gives way first.

    Within groups there are several indexes, outermost first.
    """
    mapped = "".join(f"-{number}" for number in (*groups, index) if number != constants.UNMAPPED)
    tail = f"{mapped}-{canonical.digest(workflow_uid, task, index, *groups)[:5]}"
    room = constants.NAME_MAX - len(tail)
    called = _label(task)[: room - 2]
    return f"{_label(workflow)[: room - len(called) - 1].rstrip('-.')}-{called}{tail}"


def pod(taskrun_name: str, attempt: int, segment: int, launch: int) -> str:
    """`<taskrun>-a<attempt>-s<segment>[-l<launch>]`."""
    return f"{taskrun_name}-a{attempt}-s{segment}" + (f"-l{launch}" if launch else "")


def label(value: str) -> str:
    """A name as the value of a label, which has 63 characters and ends with a letter or a digit.

    What does not fit is cut and gets a hash, so that no two names have one label.
    """
    if len(value) <= _LABEL_MAX and value[-1:].isalnum():
        return value
    tail = f"-{canonical.digest(value)[:5]}"
    return value[: _LABEL_MAX - len(tail)].rstrip("-._") + tail


def is_object_name(name: str) -> bool:
    """Whether an object can have the name: a DNS subdomain, which a shell takes as it is."""
    return len(name) <= _OBJECT_NAME_MAX and _OBJECT_NAME.fullmatch(name) is not None


def _label(name: str) -> str:
    """Task names are identifiers (`load_all`); Kubernetes' names take dashes (`load-all`)."""
    return name.lower().replace("_", "-")


def event_owner(uid: str) -> str:
    """Under which name the archive keeps the event of the TaskRun with this uid, beside its result."""
    return f"{uid}.event"

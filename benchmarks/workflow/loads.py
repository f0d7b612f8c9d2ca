"""The runs that are measured: three shapes, each with python tasks or with container tasks.

A container task has a result in a file, as most tasks of Argo with a result do. So its pod has the init container and
the wrapper of ADR 0060.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from benchmarks.harness.runs import WatchedRuns, expanded, step
from benchmarks.harness.waiting import Object


class TaskForm(StrEnum):
    """What a task runs."""

    PYTHON = "python"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLoad:
    """Runs that start at once: the tasks of each by its name, and the other fields of their spec."""

    name: str
    form: TaskForm
    runs: Mapping[str, Sequence[Object]]
    spec: Mapping[str, Any] = field(default_factory=dict)
    tasks: int


def fan_out(count: int, form: TaskForm = TaskForm.PYTHON) -> RunLoad:
    """A mapped task with `count` instances."""
    task = expanded(form_step("each", form), count)
    spec = {"parallelism": count, "maxMapSize": count}
    return RunLoad(name=f"fan-out of {count}", form=form, runs={"fan": [task]}, spec=spec, tasks=count)


def chain(length: int, form: TaskForm = TaskForm.PYTHON) -> RunLoad:
    """A chain of steps."""
    needs = [{"after": [f"s{number - 1}"]} if number else {} for number in range(length)]
    tasks = [form_step(f"s{number}", form, **need) for number, need in enumerate(needs)]
    return RunLoad(name=f"chain of {length}", form=form, runs={"run-0": tasks}, tasks=length)


def many(count: int, form: TaskForm = TaskForm.PYTHON) -> RunLoad:
    """`count` Workflows with one step."""
    runs = {f"run-{number}": [form_step("only", form)] for number in range(count)}
    return RunLoad(name=f"{count} workflows", form=form, runs=runs, tasks=count)


async def start(runs: WatchedRuns, load: RunLoad) -> None:
    """Create the runs of the load at once."""
    await asyncio.gather(*(runs.start(name, tasks, **load.spec) for name, tasks in load.runs.items()))


def form_step(name: str, form: TaskForm, **fields: Any) -> Object:
    """A task of this form."""
    if form is TaskForm.PYTHON:
        return step(name, **fields)
    return step(name, python=None, container={"command": ["true"], "result": {"path": "/tmp/result"}}, **fields)

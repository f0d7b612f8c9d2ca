"""A TaskRun as the operator caches it: without fields that only its pod or its triggerer reads. Pure.

There may be 100,000 TaskRuns, each with up to 64 kB of user data. A pod is built from a TaskRun that is read again.
"""

from typing import Any

from torpor_crds.models.base import Model
from torpor_crds.models.program import Command
from torpor_crds.models.taskrun import TaskRun, parse
from torpor_wire.state import TERMINAL, State

_NO_FIELDS: frozenset[str] = frozenset()
_NO_COMMAND = Command()


def read(body: Any) -> TaskRun:
    """The TaskRun that plans read. Raises pydantic.ValidationError if it is invalid."""
    run = parse(body)
    spec, status = run.spec, run.status
    _set(run.metadata, labels={}, annotations={})
    _set(spec, arguments=(), python=None, result=None, fail_when=None, display_name=None)
    _set(status, log=None, conditions=())
    if spec.schedule is None:  # the event of a Schedule's source is read by its plan, as is the trigger
        _set(status, event=None)
        if spec.trigger is not None and status.state in TERMINAL:
            _set(spec.trigger, kwargs="{}")
    if spec.run is not None and status.state is not State.SCHEDULED:  # the run exists, and has its params
        _set(spec.run, params="{}")
    if spec.object_ is not None:
        _set(spec.object_, manifest="{}", until=None, fail_when=None, result=None)
    if spec.container is not None:
        _set(spec, container=_without_words(spec.container))
    if status.trigger is not None and spec.run is None:  # they have the name of the run
        _set(status.trigger, kwargs="{}")
    if status.next is not None:
        _set(status.next, kwargs="{}")
    parts: tuple[Model | None, ...] = (
        run,
        run.metadata,
        spec,
        spec.owner,
        spec.retries,
        spec.trigger,
        spec.run,
        spec.object_,
        spec.source,
        spec.mark,
        spec.notification,
    )
    parts += (status, status.pod, status.trigger, status.next, status.stored)
    for part in parts:
        _drop_fields_set(part)
    return run


def _without_words(program: Command) -> Command:
    """What plans read of a container: how it reports its outcome, and whether it has a script."""
    plain = not program.writes_outcomes and not program.trigger_secrets and not program.steps
    if plain and program.script is None and not program.result:
        return _NO_COMMAND
    for each in (program, *program.steps):
        _set(each, command=(), args=(), env=(), script=None if each.script is None else "", interpreter=())
    return program


def _set(model: Model, **values: object) -> None:
    """Set fields of a frozen model, which is safe since no other code has seen it yet."""
    for name, value in values.items():
        object.__setattr__(model, name, value)


def _drop_fields_set(model: Model | None) -> None:
    """Drop pydantic's set of assigned fields, which takes 4 of the 10 kB of each TaskRun."""
    if model is not None:
        object.__setattr__(model, "__pydantic_fields_set__", _NO_FIELDS)

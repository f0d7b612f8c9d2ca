"""A TaskRun as the operator holds it: without what only its pod or its triggerer reads.

There may be 100,000 of them, and what their authors put into them is up to 64 kB each. What a container is given is
read again when its pod is made. Pure.
"""

from typing import Any

from torpor_api.models.base import Model
from torpor_api.models.taskrun import Command, TaskRun, parse
from torpor_wire.state import TERMINAL

_NONE_GIVEN: frozenset[str] = frozenset()
_NOTHING = Command()


def read(body: Any) -> TaskRun:
    """The TaskRun that the operator plans with. Raises pydantic.ValidationError where it cannot be read."""
    run = parse(body)
    spec, status = run.spec, run.status
    _set(run.metadata, labels={}, annotations={})
    _set(spec, arguments=(), python=None, result=None, fail_when=None, display_name=None)
    _set(status, event=None, log=None, conditions=())
    if spec.container is not None:
        _set(spec, container=_NOTHING)
    if spec.trigger is not None and status.state in TERMINAL:
        _set(spec.trigger, kwargs="{}")
    if status.trigger is not None:
        _set(status.trigger, kwargs="{}")
    if status.next is not None:
        _set(status.next, kwargs="{}")
    parts: tuple[Model | None, ...] = (run, run.metadata, spec, spec.workflow, spec.retries, spec.trigger)
    parts += (status, status.pod, status.trigger, status.next, status.stored)
    for part in parts:
        _forget_given(part)
    return run


def _set(model: Model, **values: object) -> None:
    """A model is frozen for everybody else; this one has just been made and nobody has seen it yet."""
    for name, value in values.items():
        object.__setattr__(model, name, value)


def _forget_given(model: Model | None) -> None:
    """Without pydantic's notes of which fields were given: 4 of the 10 kB that each would be held with."""
    if model is not None:
        object.__setattr__(model, "__pydantic_fields_set__", _NONE_GIVEN)

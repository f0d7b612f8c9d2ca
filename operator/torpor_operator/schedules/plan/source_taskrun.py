"""The TaskRun of a source: how it is built, whether it fits the spec, and how it is armed."""

from typing import Any

from torpor_crds.models.base import Retries
from torpor_crds.models.schedule import Schedule, ScheduleSource
from torpor_crds.models.taskrun import OwnerRef, TaskRun, TaskRunSpec, TriggerCall
from torpor_wire import canonical, constants, names, transitions, trigger

from torpor_operator.mapping import secret_refs
from torpor_operator.model.actions import PatchTaskRun
from torpor_operator.schedules.plan import cron_source
from torpor_operator.taskrun.builder import reference

_CRON = "cron"
_WORKFLOW = "workflow"
RETRIES = Retries(limit=100, delay="5s", backoff=2, max_delay="10m")
"""A source retries for most of a day before its TaskRun fails, and is then created again."""


def build(schedule: Schedule, source: ScheduleSource) -> dict[str, Any]:
    """The TaskRun of a source, as JSON. Raises trigger.TriggerError for invalid arguments."""
    metadata = schedule.metadata
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "TaskRun",
        "metadata": {
            "name": names.taskrun(metadata.name, metadata.uid, source.name),
            "namespace": metadata.namespace,
            "labels": {
                constants.LABEL_SCHEDULE: names.label(metadata.name),
                constants.LABEL_TASK: names.label(source.name),
            },
            "ownerReferences": [reference("Schedule", metadata.name, metadata.uid)],
        },
        "spec": _spec(schedule, source).to_json(),
    }


def fits(schedule: Schedule, source: ScheduleSource, taskrun: TaskRun) -> bool:
    """Whether the TaskRun is what the spec requires now. Raises trigger.TriggerError for invalid arguments."""
    wanted, spec = _spec(schedule, source), taskrun.spec
    return (wanted.trigger, wanted.trigger_pool, wanted.service_account) == (
        spec.trigger,
        spec.trigger_pool,
        spec.service_account,
    )


def has_other_class(source: ScheduleSource, taskrun: TaskRun) -> bool:
    """Whether the TaskRun waits for a trigger of another class than the source."""
    wanted = _CRON if source.trigger is None else source.trigger.class_name
    return taskrun.spec.trigger is None or taskrun.spec.trigger.class_name != wanted


def has_other_ticks(source: ScheduleSource, taskrun: TaskRun) -> bool:
    """Whether the TaskRun waits for ticks of another expression or time zone than the source."""
    kwargs = {} if taskrun.spec.trigger is None else trigger.parse(taskrun.spec.trigger.kwargs)
    return any(kwargs.get(name) != value for name, value in _ticks(source).items())


def first_cursor(schedule: Schedule, source: ScheduleSource) -> str | None:
    """The cursor before the first event.

    Without one, `workflow` begins with each wait, and would lose the ends between a failed wait and its retry.
    """
    if source.cursor is None and source.trigger is not None and source.trigger.class_name == _WORKFLOW:
        return schedule.metadata.creation_timestamp
    return source.cursor


def needs_cursor(source: ScheduleSource) -> bool:
    """Whether each event must have a cursor: that of a class outside the library, for a source with a cursor.

    Without it the source would be armed at the same position, and fire for the same thing again.
    """
    return source.trigger is not None and source.cursor is not None and source.trigger.class_name not in trigger.CURSORS


def arm(taskrun: TaskRun, cursor: str | None, now: float) -> PatchTaskRun:
    """Defer the TaskRun until the next event after the cursor. Raises trigger.TriggerError for invalid arguments."""
    spec, metadata = taskrun.spec, taskrun.metadata
    call = spec.trigger
    if call is None:
        raise trigger.TriggerError("the TaskRun has no trigger")
    kwargs = dict(trigger.parse(call.kwargs))
    if call.class_name in trigger.CURSORS or cursor is not None:
        kwargs["cursor"] = cursor
    stored = trigger.build(
        call.class_name,
        kwargs,
        namespace=metadata.namespace,
        pool=spec.trigger_pool,
        now=now,
        account=spec.service_account or constants.TASK_ACCOUNT,
        taskrun=metadata.name,
    )
    return PatchTaskRun(
        taskrun=taskrun, patch=transitions.defer(taskrun.pin(), stored, resume=None, deadline=None, now=now)
    )


def _spec(schedule: Schedule, source: ScheduleSource) -> TaskRunSpec:
    metadata = schedule.metadata
    return TaskRunSpec(
        schedule=OwnerRef(name=metadata.name, uid=metadata.uid),
        task=source.name,
        trigger=_trigger(schedule, source),
        trigger_pool=source.trigger_pool or constants.DEFAULT_POOL,
        service_account=source.service_account or constants.TASK_ACCOUNT,
        retries=RETRIES,
    )


def _trigger(schedule: Schedule, source: ScheduleSource) -> TriggerCall:
    if source.trigger is not None:
        written = source.trigger.kwargs
        kwargs = canonical.plain(secret_refs.mark(written, written))
        return TriggerCall(class_name=source.trigger.class_name, kwargs=kwargs, timeout=source.trigger.timeout)
    arguments = _ticks(source)
    if delay := cron_source.jitter_delay(schedule):
        arguments["delay"] = delay
    return TriggerCall(class_name=_CRON, kwargs=canonical.plain(arguments))


def _ticks(source: ScheduleSource) -> dict[str, canonical.Json]:
    return {"expression": source.cron, "timezone": source.timezone or "UTC"}

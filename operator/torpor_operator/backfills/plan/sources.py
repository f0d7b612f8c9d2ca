"""Which cron sources of the Schedule a Backfill runs, and the period of their ticks. Pure.

The ticks follow from the present spec of the Schedule: after an edit, the rest of the period has the new ticks.
"""

from dataclasses import dataclass

from torpor_crds.models.schedule import Schedule, ScheduleSource, ScheduleSpec
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks
from torpor_wire.enums import TemplateKind
from torpor_wire.reason import Reason

from torpor_operator.backfills.plan.period import BackfillPeriod
from torpor_operator.backfills.plan.snapshot import BackfillSnapshot, TemporaryObstacle


@dataclass(frozen=True, slots=True)
class PermanentObstacle:
    """Why the Backfill fails: a reason and a sentence."""

    reason: str
    message: str


def period_of(snapshot: BackfillSnapshot) -> BackfillPeriod | TemporaryObstacle | PermanentObstacle:
    """The period, or why there is none.

    It ends before the Backfill started: the Schedule runs later ticks itself.
    """
    backfill, schedule = snapshot.backfill, snapshot.schedule
    if schedule is None or schedule.metadata.deletion_timestamp is not None:
        message = f"Schedule {backfill.spec.schedule} does not exist: create it, or cancel the Backfill"
        return snapshot.blocked or TemporaryObstacle(Reason.SCHEDULE_NOT_FOUND, message)
    sources = _cron_sources(schedule.spec, backfill.spec.source)
    if not sources:
        return PermanentObstacle(Reason.SOURCE_NOT_FOUND, _without_source(schedule, backfill.spec.source))
    started = backfill.status.start_time
    try:
        return BackfillPeriod(
            sources={source.name: Ticks.parse(source.cron or "", source.timezone) for source in sources},
            start=times.epoch(backfill.spec.start),
            end=min(times.epoch(backfill.spec.end), times.epoch(started) if started else snapshot.now),
            reverse=backfill.spec.reverse,
        )
    except (ValueError, OverflowError) as error:
        return TemporaryObstacle(
            Reason.SCHEDULE_INVALID, f"the ticks of Schedule {schedule.metadata.name} are unknown: {error}"
        )


def template_missing(snapshot: BackfillSnapshot) -> TemporaryObstacle | None:
    """Why runs cannot start because the WorkflowTemplate of the Schedule is missing."""
    reference = snapshot.schedule.spec.template_ref if snapshot.schedule else None
    if reference is None or snapshot.has_template is not False:
        return None
    return TemporaryObstacle(
        "TemplateNotFound", f"{reference.kind or TemplateKind.NAMESPACE} {reference.name} does not exist: create it"
    )


def _cron_sources(spec: ScheduleSpec, name: str | None) -> list[ScheduleSource]:
    """The cron sources that start a run by themselves; those of `allOf` do not."""
    return [
        source
        for source in spec.sources
        if source.cron is not None and source.name not in spec.all_of and name in {None, source.name}
    ]


def _without_source(schedule: Schedule, name: str | None) -> str:
    named = next((source for source in schedule.spec.sources if source.name == name), None)
    if name is not None and named is None:
        names = ", ".join(source.name for source in schedule.spec.sources)
        return f"Schedule {schedule.metadata.name} has no source {name}; its sources are {names}"
    if named is not None and named.cron is None:
        return f"source {name} is a trigger, and only a cron source has ticks in the past"
    if named is not None:
        return f"source {name} starts runs only together with other sources (allOf)"
    if any(source.cron is not None for source in schedule.spec.sources):
        return f"the cron sources of Schedule {schedule.metadata.name} start runs only with other sources (allOf)"
    return f"Schedule {schedule.metadata.name} has no cron source, and only a cron source has ticks in the past"

"""What an act will do, in sentences, before it is done. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torpor_views import counts, json_fields
from torpor_views.counts import InstanceCounts
from torpor_views.model import RunView

from torpor_client.changes.clear_preview import PreviewedTask
from torpor_client.schedules import moments
from torpor_client.schedules.upcoming import UpcomingTick

_SHOWN = 10
_VALUE_MAX = 200


def of_control(run: RunView, verb: str) -> tuple[str, ...]:
    """Return what suspend, resume, stop, cancel or delete does to a run."""
    numbers = counts.of_run(run)
    match verb:
        case "suspend":
            return (f"No further task of {run.name} starts. {_going_on(numbers, 'go on')}",)
        case "resume":
            return (f"{run.name} continues: tasks that are ready start.",)
        case "stop":
            hooks = [task.name for task in run.tasks if task.hook]
            then = f" Then its hooks run: {_named(hooks)}." if hooks else ""
            return (f"{run.name} ends as Cancelled. {_going_on(numbers, 'are cancelled')}{then}",)
        case "cancel":
            return (f"{run.name} ends as Cancelled, without its hooks. {_going_on(numbers, 'are cancelled')}",)
        case "delete":
            return _deletion(run, numbers)
        case _:
            raise ValueError(f"{verb!r} is not a verb of control")


def of_clear(cleared: Sequence[PreviewedTask]) -> tuple[str, ...]:
    """Return what runs again."""
    total = sum(task.instances for task in cleared)
    return _cut([task.text() for task in cleared], f"{_counted(len(cleared), 'task')}, {_counted(total, 'TaskRun')}")


def of_mark(run: RunView, refs: Sequence[str], state: str) -> tuple[str, ...]:
    """Return what a mark does."""
    first = f"{_named(refs)} of {run.name} {'ends' if len(refs) == 1 else 'end'} as {state} without running."
    rest = "A pod or a wait that goes on is ended first. What depends on an instance that had ended runs again."
    return first, rest


def of_answer(verb: str, ref: str, question: str) -> tuple[str, ...]:
    """Return what an approval or a rejection does."""
    then = "The task goes on." if verb == "approve" else "The Workflow decides what follows."
    return (f"{ref} is {'approved' if verb == 'approve' else 'rejected'}: {json_fields.one_line(question)}. {then}",)


def of_new_run(namespace: str, what: str, params: Mapping[str, Any], before: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a new run has. `before`: the defaults, or the values of the earlier run."""
    first = f"A new run of {what} is created in namespace {namespace}."
    changed = [
        f"{name}: {_shown(value)}" + (f" instead of {_shown(before[name])}" if name in before else "")
        for name, value in params.items()
        if name not in before or before[name] != value or type(before[name]) is not type(value)
    ]
    return first, *(changed or ["All params keep their values."] if before or params else [])


def of_schedule(name: str, verb: str) -> tuple[str, ...]:
    """Return what pause, resume or run does to a Schedule."""
    match verb:
        case "pause":
            return (
                f"{name} starts no further runs. Runs that have started go on; ticks pass without a run.",
                "Events of other sources wait until it is resumed.",
            )
        case "resume":
            return (f"{name} starts runs again, from its next tick or event on.",)
        case "run":
            return (f"A run of {name} starts now, even if it is paused or other runs are active.",)
        case _:
            raise ValueError(f"{verb!r} is not a verb of schedules")


def of_backfill(ticks: Iterable[UpcomingTick], spec: Mapping[str, Any], most: int) -> tuple[str, ...]:
    """Return what a Backfill creates. `most`: ticks to count."""
    times_of_ticks, more = [], False
    for number, tick in enumerate(ticks):
        if number >= most:
            more = True
            break
        times_of_ticks.append(moments.stamp(tick.at))
    total = f"more than {most}" if more else str(len(times_of_ticks))
    rerun = {"failed": "and those whose run failed ", "all": "and those that have a run "}
    again = rerun.get(str(spec.get("rerun") or ""), "")
    noun = "tick" if len(times_of_ticks) == 1 and not more else "ticks"
    first = f"The period has {total} {noun}. Ticks without a run {again}get one, "
    first += f"{spec.get('concurrency') or 1} at a time."
    return first, *_cut(times_of_ticks, f"{total} {noun}")


def _deletion(run: RunView, numbers: InstanceCounts) -> tuple[str, ...]:
    taskruns = len(run.all_instances()) or numbers.total - numbers.pending
    first = f"{run.name} is deleted with its {_counted(taskruns, 'TaskRun')} and their pods."
    if run.ended:
        return first, "The archive keeps its copy if it has one."
    return first, f"It is cancelled first. {_going_on(numbers, 'are cancelled')}", "The archive has no copy of it."


def _going_on(numbers: InstanceCounts, verb: str) -> str:
    pods, waits = numbers.running + numbers.queued + numbers.active, numbers.waiting + numbers.retrying
    return f"{_counted(pods, 'task')} in or before a pod and {_counted(waits, 'wait')} {verb}."


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _cut(lines: Sequence[str], total: str) -> tuple[str, ...]:
    if len(lines) <= _SHOWN:
        return tuple(lines)
    return (*lines[:_SHOWN], f"and {len(lines) - _SHOWN} more: {total}")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shown(value: Any) -> str:
    return json_fields.one_line(json.dumps(value, ensure_ascii=False, default=str), _VALUE_MAX)

"""The page of one run: its head, its tasks and its graph, as JSON. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from torpor_views import counts, json_fields, messages, run_graph, tones, why
from torpor_views.causes.cause import Cause, Urgency
from torpor_views.facts import Facts
from torpor_views.model import RunView, TaskView
from torpor_wire import constants
from torpor_wire.state import State

Json = dict[str, Any]
CAUSES_MAX = 100
_REMEDIES = {
    Urgency.ACT: "It does not go on by itself.",
    Urgency.WAIT: "It goes on by itself.",
    Urgency.DONE: "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """What the page of a run shows beside its instances."""

    head: Json
    tasks: Sequence[Json]
    groups: Sequence[Json]
    edges: Sequence[Sequence[str]]


def build(run: RunView, facts: Facts, *, previous: str | None = None, archived: bool = False) -> RunPage:
    """Return the page of a run with its instances. `previous`: the key of the run before, if there is one."""
    graph = run_graph.build(run)
    names = [node.name for node in graph.nodes]
    return RunPage(
        head=_head(run, why.of_run(run, facts), archived=archived) | {"previous": previous},
        tasks=[_task(run, task, node.details) for task, node in zip(run.tasks, graph.nodes, strict=True)],
        groups=[{"name": group.name, "chain": list(group.chain)} for group in run.groups],
        edges=[[names[edge.source], names[edge.target], edge.kind] for edge in graph.edges],
    )


def _head(run: RunView, causes: Sequence[Cause], *, archived: bool) -> Json:
    state = "Cancelled" if run.cancelled and run.ended else run.word
    verdict = run.conditions.get("Succeeded")
    instances = run.all_instances()
    states = Counter(instance.state for instance in instances)
    return {
        "key": f"archive/{run.namespace}/{run.uid}" if archived else f"live/{run.namespace}/{run.name}",
        "namespace": run.namespace,
        "name": run.name,
        "uid": run.uid,
        "state": state,
        "tone": tones.of_word(state),
        "reason": verdict.reason if verdict else "",
        "message": json_fields.message_line(messages.of_tree(run)),
        "created": run.created,
        "started": run.started,
        "completed": run.completed,
        "suspended": run.suspend,
        "progress": run.progress,
        "counts": _counts(counts.of_run(run)),
        "pods": states[State.RUNNING],
        "waits": states[State.DEFERRED],
        "params": dict(run.params),
        "template": run.template,
        "schedule": run.labels.get(constants.LABEL_SCHEDULE, ""),
        "labels": dict(run.labels),
        "why": [cause_json(cause) for cause in causes[:CAUSES_MAX]],
        "conditions": [_condition(each) for each in run.conditions.values()],
        "history": [
            {"at": each.at, "type": each.type, "by": each.by, "state": each.state, "message": each.message}
            for each in run.history
        ],
    }


def cause_json(cause: Cause) -> Json:
    """Return a cause as the page shows it."""
    others = f"{cause.others} more instances of {cause.task} have the same cause." if cause.others else ""
    return {
        "subject": cause.ref or cause.task,
        "kind": cause.kind,
        "urgency": cause.urgency,
        "sentence": cause.sentence,
        "since": cause.since,
        "next": cause.next_at,
        "deadline": cause.deadline,
        "remedy": _REMEDIES[cause.urgency],
        "command": cause.command,
        "details": [others] if others else [],
    }


def _task(run: RunView, task: TaskView, details: Sequence[str]) -> Json:
    state, numbers = run.word_of(task), counts.of_task(run, task)
    return {
        "name": task.name,
        "displayName": task.name,
        "kind": task.kind,
        "state": state,
        "tone": tones.of_word(state),
        "details": list(details),
        "groups": list(task.groups),
        "hook": task.hook,
        "mapped": task.several,
        "progress": counts.summary(numbers) if task.several else "",
        "counts": _counts(numbers),
        "total": numbers.total,
        "reason": task.reason,
        "message": json_fields.message_line(messages.of_task(run, task)),
    }


def _condition(condition: Any) -> Json:
    names = ("type", "status", "reason", "message", "since")
    return {name: getattr(condition, name) for name in names}


def _counts(numbers: counts.InstanceCounts) -> Json:
    return {field.name: value for field in fields(numbers) if (value := getattr(numbers, field.name))}

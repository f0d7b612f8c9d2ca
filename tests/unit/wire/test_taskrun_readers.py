"""Every reader of a TaskRun agrees with its model: on each field, its default and its type.

The pod of a task and the views read JSON themselves, because pydantic takes too long to import. A TaskRun with every
field of the schema is read by all, and again without each field that may be unset.
"""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from torpor.runtime import taskrun as worker
from torpor_crds.models import taskrun as models
from torpor_crds.models.argument import Argument
from torpor_crds.models.history import TaskRunHistoryEntry
from torpor_crds.models.segment import Waiting
from torpor_crds.models.taskrun import TaskRun
from torpor_triggerer.model import deferred_taskrun
from torpor_triggerer.model.deferred_taskrun import EndExpressions, SegmentId, StoredTrigger
from torpor_views import instance as views
from torpor_wire import constants, times
from torpor_wire.approvers import Approvers
from torpor_wire.deadline import attempt_deadline, is_attempt_deadline

from tests.unit.wire.taskrun_samples import Body, Recorded, bodies, fields, full

Values: TypeAlias = dict[str, object]


def _epoch(text: str | None) -> float | None:
    return times.epoch(text) if text else None


def _seconds(text: str | None) -> float | None:
    return times.seconds(text) if text else None


def _attempt_deadline(run: TaskRun) -> float | None:
    return attempt_deadline(run.status.started_at, run.spec.timeout) if run.spec.timeout_while_deferred else None


def _worker_taskrun(run: TaskRun, _: Body) -> Values:
    spec = run.spec
    assert spec.workflow is not None
    image = spec.image or "its image"
    return {
        "workflow": spec.workflow.name,
        "workflow_uid": spec.workflow.uid,
        "task": spec.task,
        "map_index": spec.map_index,
        "pool": spec.trigger_pool,
        "account": spec.service_account or constants.TASK_ACCOUNT,
        "image": image if spec.source is None else f"{image} or ConfigMap {spec.source.config_map}",
        "python": spec.python or "",
        "arguments": tuple(map(_worker_argument, spec.arguments)),
        "policy": spec.retries.policy(),
        "deadline": _attempt_deadline(run),
        "resume": _worker_resume(run),
        "group_indexes": spec.group_path,
        "problem": "",
    }


def _worker_argument(argument: Argument) -> worker.TaskArgument:
    source = argument.source
    location = (
        None
        if source is None
        else worker.ArgumentLocation(
            task=source.task,
            field=source.field,
            instances=source.count,
            position=source.index,
            missing=source.missing,
            item=source.item,
            group_indexes=source.group_indexes or (),
            paths=source.paths,
            mapped=source.mapped or False,
        )
    )
    return worker.TaskArgument(argument.name, argument.value, location, argument.map)


def _worker_resume(run: TaskRun) -> worker.ResumePoint | None:
    status = run.status
    event = None if status.event is None else json.loads(status.event)
    if status.segment == 0:
        return None
    if status.next is None:
        return None if run.spec.trigger is None else worker.ResumePoint("", {}, event)
    late = status.next.on_timeout if status.timed_out else None
    return worker.ResumePoint(late or status.next.method, json.loads(status.next.kwargs), event, late is not None)


def _worker_state(run: TaskRun, body: Body) -> Values:
    stored, status = body["status"], run.status
    return {
        "uid": run.metadata.uid,
        # The worker must not take a status that lacks these for the start of a TaskRun.
        "state": status.state if "state" in stored else "",
        "attempt": status.attempt if "attempt" in stored else 0,
        "segment": status.segment,
        "launch": status.launch,
        "claim": status.pod and status.pod.claim,
    }


def _triggerer_wait(run: TaskRun, _: Body) -> Values:
    metadata, spec, status = run.metadata, run.spec, run.status
    deadline = _epoch(status.deadline)
    return {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "segment_id": SegmentId(metadata.uid, status.attempt, status.segment),
        "created": metadata.creation_timestamp,
        "pool": spec.trigger_pool,
        "account": spec.service_account or constants.TASK_ACCOUNT,
        "trigger": status.trigger and _triggerer_trigger(status.trigger),
        "deferred_at": _epoch(status.deferred_at) or 0.0,
        "deferred_before": status.deferred_seconds or 0.0,
        "deadline": deadline,
        "deadline_is_attempts": is_attempt_deadline(deadline, _attempt_deadline(run)),
        "cancelled": status.cancel is not None,
        "resumes": any((spec.python, spec.container, spec.schedule)),
        "of_schedule": spec.schedule is not None,
        "of_container": spec.container is not None,
        "run_depth": spec.run.depth if spec.run is not None else 0,
        "on_timeout": status.next is not None and status.next.on_timeout is not None,
        "timeout_is_final": bool(status.next and status.next.timeout_is_final),
        "expressions": EndExpressions(spec.result, spec.fail_when, "{}", "{}")
        if spec.python is None and (spec.result or spec.fail_when)
        else None,
        "retries": spec.retries.policy(),
        "history": status.history,
    }


def _triggerer_trigger(trigger: Waiting) -> StoredTrigger:
    given = trigger.approvers
    approvers = None if given is None else Approvers(given.users, given.groups)
    return StoredTrigger(trigger.class_name, trigger.kwargs, trigger.key, trigger.shard, trigger.waits_for, approvers)


def _views_instance(run: TaskRun, body: Body) -> Values:
    metadata, spec, status = run.metadata, run.spec, run.status
    return {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
        "workflow": spec.workflow.name if spec.workflow else "",
        "workflow_uid": spec.workflow.uid if spec.workflow else "",
        "task": spec.task,
        "path": spec.path,
        "display_name": spec.display_name or "",
        "pool": spec.pool or "",
        "trigger_pool": spec.trigger_pool,
        "service_account": spec.service_account or "",
        "image": spec.image or "",
        "source": spec.source.config_map if spec.source else "",
        "code_hash": (status.pod and status.pod.source) or "",
        "kind": "python" if spec.python else "container" if spec.container else "trigger",
        "waits_first": spec.trigger is not None,
        "chosen_run": (spec.run and spec.run.name) or "",
        "timeout": _seconds(spec.timeout),
        "timeout_while_deferred": spec.timeout_while_deferred,
        "limit": spec.retries.limit,
        "clears": spec.clears,
        "created": _epoch(metadata.creation_timestamp),
        "deleting": _epoch(metadata.deletion_timestamp),
        "state": status.state,
        "word": status.state.value,
        "attempt": status.attempt,
        "segment": status.segment,
        "launch": status.launch,
        "pod": status.pod.name if status.pod else "",
        "started_at": _epoch(status.started_at),
        "first_started_at": _epoch(status.first_started_at),
        "deferred_at": _epoch(status.deferred_at),
        "deferred_seconds": status.deferred_seconds or 0.0,
        "fired_at": _epoch(status.fired_at),
        "retry_at": _epoch(status.retry_at),
        "completed": _epoch(status.completion_time),
        "deadline": _epoch(status.deadline),
        "cancel": _epoch(status.cancel),
        "trigger": status.trigger and _views_trigger(status.trigger),
        "reason": status.reason or "",
        "message": status.message or "",
        "stored": status.stored is not None,
        "raw_history": body["status"].get("history", ()),
    }


def _views_trigger(trigger: Waiting) -> views.TriggerView:
    return views.TriggerView(
        class_name=trigger.class_name,
        kwargs=trigger.kwargs,
        key=trigger.key,
        shard=trigger.shard,
        waits_for=trigger.waits_for,
        users=trigger.approvers.users if trigger.approvers else (),
        groups=trigger.approvers.groups if trigger.approvers else (),
    )


_READERS: dict[str, tuple[Callable[[Any], Any], Callable[[TaskRun, Body], Values]]] = {
    "worker": (worker.parse_taskrun, _worker_taskrun),
    "worker's state": (worker.parse_state, _worker_state),
    "triggerer": (deferred_taskrun.parse, _triggerer_wait),
    "views": (views.InstanceView.parse, _views_instance),
}


def _attributes(value: Any) -> Values:
    names = getattr(value, "_fields", None) or type(value).__dataclass_fields__
    return {name: getattr(value, name) for name in names}


def _typed(values: Values) -> Values:
    """The values with their types; a member of an enumeration of texts is a text."""
    return {name: (str if isinstance(value, str) else type(value), value) for name, value in values.items()}


@pytest.mark.parametrize("reader", _READERS)
def test_a_reader_reads_each_field_and_default_as_the_model_does(reader: str) -> None:
    read, expected = _READERS[reader]
    for case, body in bodies():
        if reader != "worker" or "workflow" in body["spec"]:  # a TaskRun of a Schedule has no pod
            assert _typed(_attributes(read(body))) == _typed(expected(models.parse(body), body)), case


@pytest.mark.parametrize("reader", _READERS)
def test_a_reader_reads_no_field_that_the_model_lacks(reader: str) -> None:
    read_fields: set[str] = set()
    _READERS[reader][0](Recorded(full(), read_fields))
    assert read_fields - set(fields()) == set()


def test_the_views_read_a_history_entry_as_the_model_does() -> None:
    for case, body in bodies():
        for entry in body["status"].get("history", ()):
            model = TaskRunHistoryEntry.model_validate(entry)
            assert _attributes(views.HistoryEntry.parse(entry)) == {
                "state": model.state,
                "word": model.state,
                "at": times.epoch(model.at),
                "attempt": model.attempt,
                "segment": model.segment,
                "launch": model.launch or 0,
                "reason": model.reason or "",
                "pod": model.pod or "",
                "trigger": model.trigger or "",
                "count": model.count or 1,
            }, case


def test_the_worker_reads_the_size_of_the_history_as_the_model_does() -> None:
    for case, body in bodies():
        if "status" in body:
            assert worker.parse_history(body) == models.parse(body).status.history, case

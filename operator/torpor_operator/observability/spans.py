"""The spans of a run, from the objects that ended. Pure.

A TaskRun has a span for itself, each attempt, each segment (a pod at work) and each wait, from its history. A span has
names and reasons. It has no params, results or messages, since a collector is read by more people than a namespace.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor_crds.models.workflow import Workflow
from torpor_wire import times
from torpor_wire.state import TERMINAL, State
from torpor_wire.trace_ids import span_id, trace_id

_FAILED = frozenset({State.FAILED, State.UP_FOR_RETRY})
Value = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpan:
    """A span. Times are seconds since the epoch. `error` is the reason of a failure, or None."""

    namespace: str
    trace: str
    id: str
    parent: str | None
    name: str
    start: float
    end: float
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str | None = None
    links: tuple[str, ...] = ()


def run_spans(workflow: Workflow) -> list[RunSpan]:
    """The span of a run that has ended; none of one that goes on."""
    metadata, spec, status = workflow.metadata, workflow.spec, workflow.status
    if status.completion_time is None or status.start_time is None:
        return []
    attributes = {
        "torpor.namespace": metadata.namespace,
        "torpor.workflow": metadata.name,
        "torpor.workflow.uid": metadata.uid,
        "torpor.state": status.state or "",
        "torpor.template": spec.template_ref.name if spec.template_ref else "",
        "torpor.schedule": spec.run_of.schedule if spec.run_of else "",
    }
    kept: dict[str, Value] = {name: value for name, value in attributes.items() if value}
    start = status.reopened_time if status.clears and status.reopened_time else status.start_time
    return [
        RunSpan(
            namespace=metadata.namespace,
            trace=trace_id(metadata.uid),
            id=span_id("run", metadata.uid, status.clears),
            parent=None,
            name=f"run {kept.get('torpor.template') or kept.get('torpor.schedule') or metadata.name}",
            start=times.epoch(start),
            end=times.epoch(status.completion_time),
            attributes=kept,
            error=None if status.state == "Succeeded" else status.state,
        )
    ]


def taskrun_spans(body: Mapping[str, Any]) -> list[RunSpan]:
    """The spans of a TaskRun that has ended, from its JSON; none of one that goes on, or of a Schedule's source.

    Raises LookupError, TypeError and ValueError for an object that no component of Torpor wrote.
    """
    status, owner = body.get("status") or {}, body["spec"].get("workflow")
    if owner is None or status.get("state") not in TERMINAL or not status.get("completionTime"):
        return []
    return list(_TaskRunSpans(body, owner["uid"]).build())


class _TaskRunSpans:
    """Builds the spans of one TaskRun."""

    def __init__(self, body: Mapping[str, Any], workflow_uid: str) -> None:
        self._metadata, self._spec, self._status = body["metadata"], body["spec"], body["status"]
        self._uid = str(self._metadata["uid"])
        self._trace = trace_id(workflow_uid)
        self._run = span_id("run", workflow_uid, int(self._spec.get("clears", 0)))
        self._created = times.epoch(self._metadata["creationTimestamp"])
        self._end = times.epoch(self._status["completionTime"])
        self._history: Sequence[Mapping[str, Any]] = self._status.get("history") or ()

    def build(self) -> Iterator[RunSpan]:
        """The task, then its attempts, then segments and waits."""
        state, reason = self._status["state"], self._status.get("reason")
        yield self._span(
            "task",
            (),
            parent=self._run,
            name=f"task {self._spec['task']}",
            start=self._created,
            end=self._end,
            error=(reason or state) if state in {State.FAILED, State.CANCELLED} else None,
            attributes={"torpor.state": state},
        )
        yield from self._attempts()
        for entry, following in zip(self._history, self._history[1:], strict=False):
            yield from self._part(entry, following)

    def _attempts(self) -> Iterator[RunSpan]:
        start, number = self._created, 1
        for entry in self._history:
            state = entry["state"]
            if int(entry["attempt"]) != number:
                start, number = times.epoch(entry["at"]), int(entry["attempt"])
            if state == State.UP_FOR_RETRY or state in TERMINAL:
                yield self._span(
                    "attempt",
                    (number,),
                    parent=span_id("task", self._uid),
                    name=f"attempt {number}",
                    start=start,
                    end=times.epoch(entry["at"]),
                    error=_error(entry),
                )

    def _part(self, entry: Mapping[str, Any], following: Mapping[str, Any]) -> Iterator[RunSpan]:
        """The segment or the wait that an entry begins and the following one ends."""
        attempt, segment, launch = int(entry["attempt"]), int(entry["segment"]), int(entry.get("launch") or 0)
        numbers = {"torpor.attempt": attempt, "torpor.segment": segment}
        shared: dict[str, Any] = {
            "parent": span_id("attempt", self._uid, attempt),
            "start": times.epoch(entry["at"]),
            "end": times.epoch(following["at"]),
            "error": _error(following),
        }
        if entry["state"] == State.RUNNING:
            woken = (span_id("wait", self._uid, attempt, segment - 1),) if segment else ()
            pod = {"k8s.pod.name": str(entry["pod"])} if entry.get("pod") else {}
            yield self._span(
                "segment",
                (attempt, segment, launch),
                name=f"segment {segment}",
                links=woken,
                attributes={**numbers, **pod},
                **shared,
            )
        elif entry["state"] == State.DEFERRED:
            trigger = str(entry.get("trigger") or "")
            yield self._span(
                "wait",
                (attempt, segment),
                name=f"wait {trigger}".rstrip(),
                attributes={**numbers, "torpor.trigger": trigger},
                **shared,
            )

    def _span(
        self,
        kind: Any,
        numbers: tuple[int, ...],
        *,
        attributes: Mapping[str, Value] | None = None,
        start: float,
        end: float,
        **fields: Any,
    ) -> RunSpan:
        of_taskrun: dict[str, Value] = {
            "torpor.namespace": self._metadata["namespace"],
            "torpor.taskrun": self._metadata["name"],
            "torpor.task": self._spec["task"],
            **({"torpor.map_index": self._spec["mapIndex"]} if "mapIndex" in self._spec else {}),
        }
        return RunSpan(
            namespace=self._metadata["namespace"],
            trace=self._trace,
            id=span_id(kind, self._uid, *numbers),
            start=min(start, end),  # creations have whole seconds, and clocks of writers differ
            end=end,
            attributes={**of_taskrun, **(attributes or {})},
            **fields,
        )


def _error(entry: Mapping[str, Any]) -> str | None:
    """The reason, if the entry is a failure."""
    return str(entry.get("reason") or entry["state"]) if entry["state"] in _FAILED else None

"""The history of a run: what happened to it, and who asked for it (ADR 0027). Pure."""

from collections.abc import Iterator

from torpor_crds.models.history import WorkflowHistoryEntry
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants, times, transitions
from torpor_wire.enums import WorkflowEvent
from torpor_wire.state import RunState

History = tuple[WorkflowHistoryEntry, ...]

_SUSPENSION = frozenset({WorkflowEvent.SUSPENDED, WorkflowEvent.RESUMED})
_BEGINNINGS = frozenset({WorkflowEvent.STARTED, WorkflowEvent.CLEARED, WorkflowEvent.MARKED})
_REQUESTS = {WorkflowEvent.CLEARED: "clear", WorkflowEvent.MARKED: "mark"}


def observe(workflow: Workflow, state: str, ended: str | None, now: float) -> History:
    """The history with what the spec and the new state show. `ended` is the state of a run that has ended."""
    former = workflow.status.history
    return bounded((*former, *_observed(workflow, state, ended, times.rfc3339(now))))


def reopened(workflow: Workflow, event: WorkflowEvent, message: str, now: float) -> History:
    """The history with an accepted request to clear or to mark."""
    by = _requester(workflow, _REQUESTS[event])
    text = transitions.shorten(message)
    entry = WorkflowHistoryEntry(type=event, at=times.rfc3339(now), by=by, message=text)
    return bounded((*_started(workflow, times.rfc3339(now)), *workflow.status.history, entry))


def bounded(history: History) -> History:
    """At most 32 entries: the oldest are dropped, and the first one counts them."""
    excess = len(history) - constants.HISTORY_MAX
    if excess <= 0:
        return history
    first = history[0]
    return (first.model_copy(update={"count": (first.count or 1) + excess}), *history[1 + excess :])


def _observed(workflow: Workflow, state: str, ended: str | None, at: str) -> Iterator[WorkflowHistoryEntry]:
    history, spec = workflow.status.history, workflow.spec
    by = _requester(workflow, str(workflow.metadata.generation))
    yield from _started(workflow, at)
    suspended = _last(history, _SUSPENSION) is WorkflowEvent.SUSPENDED
    if spec.suspend != suspended:
        event = WorkflowEvent.SUSPENDED if spec.suspend else WorkflowEvent.RESUMED
        yield WorkflowHistoryEntry(type=event, at=at, by=by)
    present = _since_beginning(history)
    if spec.stop and WorkflowEvent.STOPPED not in present:
        yield WorkflowHistoryEntry(type=WorkflowEvent.STOPPED, at=at, by=by)
    if spec.cancel and WorkflowEvent.CANCELLED not in present:
        yield WorkflowHistoryEntry(type=WorkflowEvent.CANCELLED, at=at, by=by)
    if state == RunState.FINISHING and WorkflowEvent.FINISHING not in present:
        yield WorkflowHistoryEntry(type=WorkflowEvent.FINISHING, at=at)
    if ended is not None and WorkflowEvent.ENDED not in present:
        yield WorkflowHistoryEntry(type=WorkflowEvent.ENDED, at=at, state=ended)


def _started(workflow: Workflow, at: str) -> Iterator[WorkflowHistoryEntry]:
    """The first entry, also of a run that an older version started."""
    if not workflow.status.history:
        yield WorkflowHistoryEntry(type=WorkflowEvent.STARTED, at=workflow.status.start_time or at)


def _last(history: History, kinds: frozenset[WorkflowEvent]) -> WorkflowEvent | None:
    return next((entry.type for entry in reversed(history) if entry.type in kinds), None)


def _since_beginning(history: History) -> frozenset[WorkflowEvent]:
    """What happened since the run started or was last cleared."""
    present = set[WorkflowEvent]()
    for entry in reversed(history):
        if entry.type in _BEGINNINGS:
            break
        present.add(entry.type)
    return frozenset(present)


def _requester(workflow: Workflow, request: str) -> str | None:
    """The user in the annotation, if it describes this request. The admission policy has checked the name."""
    described, _, user = workflow.metadata.annotations.get(constants.CHANGED_BY, "").partition(" ")
    return user[:253] if described == request and user else None

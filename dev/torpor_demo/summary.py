"""What the film proves: how long each TaskRun waited, and how little of it with a pod.

A pure function of what was seen. The times are those of the watch, so a pod is counted until its end was told.
"""

from dataclasses import dataclass

from torpor_api.models.taskrun import TaskRun
from torpor_wire.state import State

from torpor_demo.recording import Film, PodSeen, label


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One stay in Deferred, in seconds: how long, and how much of it some pod of the TaskRun was there."""

    run: TaskRun
    began: float
    seconds: float
    with_pod: float
    had_pod: bool


def waits(film: Film) -> list[Wait]:
    """Every wait that ended."""
    found = []
    for position, seen in enumerate(film.runs):
        uid = seen.run.metadata.uid
        after = next((each.at for each in film.runs[position + 1 :] if each.run.metadata.uid == uid), None)
        if seen.run.status.state is State.DEFERRED and after is not None:
            spans = _spans(film.pods, uid)
            held = sum(max(0.0, min(end, after) - max(start, seen.at)) for start, end in spans)
            had = any(start < seen.at for start, _ in spans)
            found.append(Wait(run=seen.run, began=seen.at, seconds=after - seen.at, with_pod=held, had_pod=had))
    return found


def lines(film: Film) -> list[str]:
    """The proof for a reader."""
    found = [_line(wait) for wait in waits(film)]
    runs = {seen.run.metadata.uid for seen in film.runs}
    pods = {seen.name for seen in film.pods}
    return [*found, f"{len(runs)} TaskRuns had {len(pods)} pods in all"]


def _line(wait: Wait) -> str:
    who = f"{label(wait.run)} waited {wait.seconds:.1f} s"
    if not wait.had_pod:
        return f"{who} and never had a pod"
    return f"{who}; its pod had ended after {wait.with_pod:.1f} s, and {wait.seconds - wait.with_pod:.1f} s cost none"


def _spans(pods: list[PodSeen], uid: str) -> list[tuple[float, float]]:
    """From when until when each pod of the TaskRun was there."""
    started: dict[str, float] = {}
    ended: dict[str, float] = {}
    for seen in pods:
        if seen.taskrun_uid == uid:
            (started if seen.active else ended).setdefault(seen.name, seen.at)
    return [(start, ended.get(name, float("inf"))) for name, start in started.items()]

"""Summarizes a recording: how long each TaskRun waited, and how much of it with a pod.

A pure function of the recording. The times are those of the watch events.
"""

from dataclasses import dataclass

from torpor_crds.models.taskrun import TaskRun
from torpor_wire.state import State

from torpor_demo.recording import Film, PodSeen, label


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One deferral, in seconds: its duration, and how much of it a pod of the TaskRun existed."""

    run: TaskRun
    began: float
    seconds: float
    with_pod: float
    had_pod: bool


def waits(film: Film) -> list[Wait]:
    """Every deferral that ended."""
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
    """The summary as lines of text."""
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
    """The time span of each pod of the TaskRun."""
    started: dict[str, float] = {}
    ended: dict[str, float] = {}
    for seen in pods:
        if seen.taskrun_uid == uid:
            (started if seen.active else ended).setdefault(seen.name, seen.at)
    return [(start, ended.get(name, float("inf"))) for name, start in started.items()]

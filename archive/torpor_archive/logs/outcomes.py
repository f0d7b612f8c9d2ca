"""Outcomes of logs whose pod ended or vanished while they were read, or before. Pure."""

from dataclasses import replace

from torpor_archive.logs.logged_pod import LoggedPod
from torpor_archive.storage import log_store
from torpor_archive.storage.log_entry import LogOutcome, LogState
from torpor_archive.storage.log_store import FinishedLog


def gone(pod: LoggedPod) -> LogOutcome:
    """The outcome of a pod that was deleted before its log was read."""
    message = f"pod {pod.name} was deleted before its log was read"
    return pod.outcome(LogState.LOST, reason="PodGone", message=message)


def abandoned(row: log_store.Row) -> FinishedLog:
    """The entry of a log whose replica stopped while it read it, and whose pod is gone."""
    outcome = LogOutcome(
        state=LogState.LOST,
        reason="PodGone",
        message=f"the archive stopped while it read the log, and pod {row['pod']} was deleted",
        failed=row["failed"],
        ended=row["ended"],
    )
    return FinishedLog(source=log_store.to_source(row), outcome=outcome)


def completed(finished: FinishedLog, pod: LoggedPod, last: LoggedPod) -> FinishedLog:
    """Add how the pod ended, which was not known when the log was requested."""
    if last is pod or last.exit_code is None or finished.outcome.state is not LogState.KEPT:
        return finished
    outcome = replace(finished.outcome, failed=last.failed, ended=last.ended_at)
    says_less = last.is_unknown and not pod.has_started  # than why the container did not start
    if outcome.reason in {pod.reason, ""} and not says_less:
        outcome = replace(outcome, reason=last.reason, message=last.message)
    return replace(finished, outcome=outcome)

"""The spans of TaskRuns and runs that have ended."""

from typing import Any

import pytest
from torpor_crds.models.workflow import parse
from torpor_operator.observability.spans import RunSpan, run_spans, taskrun_spans
from torpor_wire import times
from torpor_wire.trace_ids import span_id, trace_id

T0 = 1_700_000_000.0
Body = dict[str, Any]


def entry(state: str, after: float, attempt: int = 1, segment: int = 0, **more: Any) -> Body:
    return {"state": state, "attempt": attempt, "segment": segment, "at": times.rfc3339(T0 + after), **more}


def taskrun(*history: Body, state: str = "Succeeded", **status: Any) -> Body:
    end = history[-1]["at"] if history else times.rfc3339(T0)
    return {
        "metadata": {"name": "run-load", "namespace": "ns", "uid": "t", "creationTimestamp": times.rfc3339(T0)},
        "spec": {"workflow": {"name": "run", "uid": "w"}, "task": "load"},
        "status": {"state": state, "completionTime": end, "history": list(history), **status},
    }


DEFERRED_TWICE_TRIED = (
    entry("Running", 1, pod="run-load-a1-s0"),
    entry("Deferred", 2, trigger="http"),
    entry("Scheduled", 60, segment=1),
    entry("Running", 62, segment=1, pod="run-load-a1-s1"),
    entry("UpForRetry", 70, segment=1, reason="Error"),
    entry("Scheduled", 80, attempt=2),
    entry("Running", 81, attempt=2, pod="run-load-a2-s0"),
    entry("Succeeded", 90, attempt=2),
)


def by_name(spans: list[RunSpan]) -> dict[str, tuple[float, float]]:
    return {
        f"{span.name} {span.attributes.get('torpor.attempt', '')}": (span.start - T0, span.end - T0) for span in spans
    }


def test_a_taskrun_has_spans_for_itself_its_attempts_segments_and_waits() -> None:
    spans = taskrun_spans(taskrun(*DEFERRED_TWICE_TRIED))
    assert by_name(spans) == {
        "task load ": (0, 90),
        "attempt 1 ": (0, 70),
        "attempt 2 ": (80, 90),
        "segment 0 1": (1, 2),
        "wait http 1": (2, 60),
        "segment 1 1": (62, 70),
        "segment 0 2": (81, 90),
    }
    assert {span.trace for span in spans} == {trace_id("w")}
    assert len({span.id for span in spans}) == len(spans)


def test_spans_form_a_tree_and_a_segment_links_to_the_wait_that_woke_it() -> None:
    spans = {span.id: span for span in taskrun_spans(taskrun(*DEFERRED_TWICE_TRIED))}
    task = spans[span_id("task", "t")]
    assert task.parent == span_id("run", "w", 0)
    assert all(span.parent in spans for span in spans.values() if span is not task)
    assert spans[span_id("segment", "t", 1, 1, 0)].links == (span_id("wait", "t", 1, 0),)
    assert [span.name for span in spans.values() if span.error] == ["attempt 1", "segment 1"]


def test_a_pod_that_was_lost_has_a_segment_of_its_own() -> None:
    spans = taskrun_spans(
        taskrun(
            entry("Running", 1), entry("Scheduled", 5, launch=1), entry("Running", 7, launch=1), entry("Succeeded", 9)
        )
    )
    assert {span_id("segment", "t", 1, 0, 0), span_id("segment", "t", 1, 0, 1)} <= {span.id for span in spans}


@pytest.mark.parametrize(
    "body",
    [
        taskrun(entry("Running", 1), state="Running"),
        taskrun(entry("Succeeded", 1)) | {"spec": {"schedule": {"name": "s", "uid": "s"}, "task": "t"}},
    ],
)
def test_what_goes_on_and_sources_of_schedules_have_no_spans(body: Body) -> None:
    assert taskrun_spans(body) == []


@pytest.mark.attack
def test_a_span_carries_no_result_no_message_and_no_params() -> None:
    secret = "s3cret"
    body = taskrun(
        entry("Running", 1),
        entry("Failed", 2, reason="Error"),
        state="Failed",
        message=secret,
        result=secret,
        log=secret,
    )
    body["spec"]["arguments"] = [{"name": "x", "value": secret}]
    assert secret not in repr(taskrun_spans(body))


def test_an_ended_run_has_one_span_and_a_cleared_one_another() -> None:
    def workflow(**status: Any) -> Body:
        metadata = {"name": "run", "namespace": "ns", "uid": "w", "creationTimestamp": times.rfc3339(T0)}
        return {"metadata": metadata, "spec": {"tasks": [{"name": "a", "python": "m:f"}]}, "status": status}

    times_of = {"startTime": times.rfc3339(T0 + 1), "completionTime": times.rfc3339(T0 + 9)}
    assert run_spans(parse(workflow(state="Running", startTime=times_of["startTime"]))) == []
    (first,) = run_spans(parse(workflow(state="Failed", **times_of)))
    assert (first.id, first.parent, first.error, first.start - T0, first.end - T0) == (
        span_id("run", "w", 0),
        None,
        "Failed",
        1,
        9,
    )
    (second,) = run_spans(parse(workflow(state="Succeeded", clears=1, **times_of)))
    assert (second.id, second.error) == (span_id("run", "w", 1), None)

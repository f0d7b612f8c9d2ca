"""The ids of traces and spans, which every component derives by itself."""

import re

from torpor_wire import trace_ids


def test_a_traceparent_has_the_form_of_w3c_trace_context() -> None:
    value = trace_ids.traceparent("workflow", "taskrun", 2, 1, 0)
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", value)
    assert value.split("-")[1] == trace_ids.trace_id("workflow")
    assert value.split("-")[2] == trace_ids.span_id("segment", "taskrun", 2, 1, 0)


def test_each_part_of_a_run_has_an_id_of_its_own() -> None:
    ids = {
        trace_ids.span_id("run", "u", 0),
        trace_ids.span_id("run", "u", 1),
        trace_ids.span_id("task", "u"),
        trace_ids.span_id("attempt", "u", 1),
        trace_ids.span_id("segment", "u", 1, 0, 0),
        trace_ids.span_id("segment", "u", 1, 0, 1),
        trace_ids.span_id("wait", "u", 1, 0),
    }
    assert len(ids) == 7


def test_the_ids_never_change_between_versions() -> None:
    assert trace_ids.trace_id("4f1c") == "b9ed4a7dfd6cea96d58bdc9577cdd1b0"
    assert trace_ids.span_id("segment", "4f1c", 1, 0, 0) == "874693f8467e5d27"

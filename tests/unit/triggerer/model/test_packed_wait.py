"""A packed wait is the same wait in few bytes."""

import sys
from dataclasses import replace

import pytest
from torpor_kubernetes.cache.store import ObjectKey
from torpor_triggerer.model.deferred_taskrun import EndExpressions, SegmentId, StoredTrigger, TriggerWait
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_wire import retry
from torpor_wire.approvers import Approvers
from torpor_wire.transitions import HistorySize

TRIGGER = StoredTrigger("time", '{"at":"2100-01-01T00:00:00Z"}', "0" * 32, 17, "until 2100-01-01T00:00:00Z")
WAIT = TriggerWait(
    namespace="ns",
    name="report-load",
    segment_id=SegmentId("9c2f", 2, 3),
    created="2026-11-23T02:00:00Z",
    pool="default",
    account="torpor-task",
    trigger=TRIGGER,
    deferred_at=1.5,
    deferred_before=60.0,
    deadline=3600.5,
    deadline_is_attempts=True,
    cancelled=False,
    resumes=True,
    of_schedule=True,
    of_container=True,
    on_timeout=True,
    timeout_is_final=True,
    expressions=None,
    retries=retry.Policy(limit=3),
    history=HistorySize(5, 2),
)
EXPRESSIONS = EndExpressions("event.value", None, '{"day":"\ud800"}', "{}")


@pytest.mark.parametrize(
    "wait",
    [
        WAIT,
        replace(WAIT, cancelled=True, deadline=None, deadline_is_attempts=False),
        replace(WAIT, trigger=None),
        replace(WAIT, trigger=TRIGGER._replace(approvers=Approvers(("ann",), ("sre",)))),
        replace(WAIT, expressions=EXPRESSIONS, resumes=False),
        replace(WAIT, expressions=EXPRESSIONS._replace(result=None, fail_when="event == 1", run='{"name":"r"}')),
    ],
)
def test_what_is_unpacked_is_what_was_packed(wait: TriggerWait) -> None:
    packed = PackedWait(wait)
    assert packed.unpack() == wait
    assert packed.key == ObjectKey("ns", "report-load")
    assert (packed.segment_id, packed.tag, packed.shard) == (wait.segment_id, wait.tag, wait.shard)
    assert packed.class_name == ("" if wait.trigger is None else "time")
    assert packed.cancelled is wait.cancelled


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"cancelled": True, "history": HistorySize(6, 2)}, True),
        ({"deferred_at": 2.0}, False),
        ({"segment_id": SegmentId("9c2f", 2, 4)}, False),
        ({"segment_id": SegmentId("9c30", 2, 3)}, False),
    ],
)
def test_another_segment_attempt_taskrun_or_deferral_is_another_wait(other: dict[str, object], same: bool) -> None:
    assert PackedWait(replace(WAIT, **other)).is_same(PackedWait(WAIT)) is same  # type: ignore[arg-type]


def test_what_waits_have_in_common_is_one_object() -> None:
    packed, other = PackedWait(WAIT), PackedWait(replace(WAIT, name="another", segment_id=SegmentId("9c30", 2, 3)))
    assert packed._common is other._common
    assert sys.getsizeof(packed._texts) < 250

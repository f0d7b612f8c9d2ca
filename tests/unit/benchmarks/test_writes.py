"""The report of `benchmarks.writes`."""

from collections import Counter

from benchmarks import writes
from benchmarks.writes import Bytes, Kind


def test_the_size_of_a_taskrun_leaves_out_managed_fields() -> None:
    body = {"metadata": {"name": "a", "managedFields": [1] * 100}, "status": {"history": [{"at": "x"}]}}
    older = {"metadata": {"name": "b"}, "status": {}}
    assert writes.size_of([body, older]) == Bytes(taskrun=(59 + 37) / 2, history=(12 + 2) / 2)


def test_the_report_has_the_writes_of_each_task_and_its_bytes() -> None:
    counted = Counter({Kind("POST", "pods"): 10, Kind("PATCH", "taskruns/status"): 20})
    report = writes.text(10, counted, Bytes(taskrun=1700.4, history=205.0))
    assert "in all                                   30      3.00" in report
    assert "a finished TaskRun has 1700 bytes, 205 of them history" in report

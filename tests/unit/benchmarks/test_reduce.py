"""What the bench of results of a megabyte asks for, reads and tells."""

import json
from typing import Any

import pytest
from torpor import testing
from torpor_crds.models import workflow
from torpor_operator.graph import dag

import benchmarks.reduce.__main__ as bench
from benchmarks.reduce import peaks, rows
from benchmarks.reduce.image import reduce_tasks
from benchmarks.reduce.rows import Measurement

_MIB = 1024**2
_STATUS = "Name:\tpython\nVmPeak:\t  300000 kB\nVmHWM:\t   50000 kB\nVmRSS:\t   40000 kB\n"


def taken(results: int) -> Measurement:
    parts = {"operator": 90 * _MIB, "archive": 60 * _MIB}
    return Measurement(
        results=results,
        size=1_000_000,
        wall=600.4,
        reducing=21.25,
        worker_before=20 * _MIB,
        worker=25 * _MIB,
        before=parts,
        peaks={part: held + _MIB for part, held in parts.items()},
    )


def block(n: int) -> Any:
    return testing.run(reduce_tasks.make, {"n": n, "size": 50_000}).result


def test_the_peak_is_what_was_resident_not_what_was_addressed() -> None:
    assert peaks.parse(_STATUS) == 50_000 * 1024


def test_a_status_without_a_peak_is_no_peak_of_nothing() -> None:
    with pytest.raises(ValueError, match="VmHWM"):
        peaks.parse("Name:\tkthreadd\n")


def test_the_workflow_can_run_and_its_reducing_pod_has_room_for_few_of_the_results() -> None:
    spec = bench.spec(1000, 1_000_000, 20)
    parsed = workflow.parse({"metadata": {"name": "x", "namespace": "y", "uid": "z"}, "spec": spec}).spec
    assert isinstance(dag.build(parsed), dag.Graph)
    pod = parsed.tasks[1].pod
    assert pod is not None
    assert pod.resources is not None
    assert pod.resources.limits == {"memory": bench.LIMIT}


def test_a_block_has_its_size_and_is_unlike_others() -> None:
    assert len(block(1)["text"]) == 50_000
    assert block(1)["text"] != block(2)["text"]


def test_what_is_reduced_is_counted_as_whole_only_in_its_place_and_unharmed() -> None:
    harmed = {**block(2), "text": "x"}
    given = testing.results([block(0), block(1), harmed, block(4)])
    found = testing.run(reduce_tasks.reduce, {"blocks": given}).result
    assert (found["results"], found["whole"], found["bytes"]) == (4, 2, 150_001)
    assert found["peak"] >= found["peak_before"] > 0


def test_the_table_has_a_row_for_each_run_and_the_json_its_bytes() -> None:
    runs = [taken(10), taken(1000)]
    *_, last = rows.table(runs).splitlines()
    assert last == (
        "| 1,000 | 1,000 | 600 s | 21.2 s | 25.0 MiB (before 20.0) | 91.0 MiB (before 90.0) | 61.0 MiB (before 60.0) |"
    )
    told = json.loads(rows.written(runs, commit="c", at="t", limit="64Mi"))
    assert [run["peaks"]["archive"] for run in told["runs"]] == [61 * _MIB] * 2

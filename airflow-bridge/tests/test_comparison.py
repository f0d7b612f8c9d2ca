"""What `torpor from-airflow --check` calls different."""

from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from torpor_airflow.check import comparison
from torpor_airflow.check.comparison import ComparedRun

AIRFLOW = {
    "state": "success",
    "states": {"load": {"0": "success", "1": "skipped", "2": "removed"}},
    "xcoms": {"load": {"0": {"return_value": 3, "skipmixin_key": {}, "_link_Job": "http://x"}}},
}


@pytest.mark.parametrize(
    ("states", "xcoms", "expected"),
    [
        ({0: "Succeeded", 1: "Skipped"}, {0: {"return_value": 3}}, []),
        ({0: "Succeeded", 1: "Failed"}, {0: {"return_value": 3}}, ["load/1: Skipped in Airflow, Failed here"]),
        ({0: "Succeeded"}, {0: {"return_value": 3}}, ["load/1: Skipped in Airflow, no instance here"]),
        (
            {0: "Succeeded", 1: "Skipped"},
            {0: {"return_value": 4}},
            ["load/0: XCom return_value: 3 in Airflow, 4 here"],
        ),
    ],
)
def test_states_and_xcoms_of_each_instance_are_compared(
    states: dict[int, str], xcoms: dict[int, Any], expected: list[str]
) -> None:
    torpor = ComparedRun(state="Succeeded", states={"load": states}, xcoms={"load": xcoms})
    found = comparison.differences(comparison.of_airflow(AIRFLOW), torpor, without_results=set())
    assert found == expected


@pytest.mark.parametrize(
    ("theirs", "ours", "is_same"),
    [
        ("Thu Nov 26 12:54:28 UTC 2026", "Thu Nov 26 12:59:01 UTC 2026", True),
        ({"at": "2026-11-26T23:59:59.5+00:00"}, {"at": "2026-11-26T00:00:01+00:00"}, True),
        ("2026-11-26T12:00:00", "2026-11-26T14:00:00", False),
        ("2026-11-26T12:00:00", "2026-11-27T12:00:00", False),
        ("12:00:00 12:00:00", "12:00:00", False),
        ([1, 2], [1, 3], False),
    ],
)
def test_a_result_may_contain_the_time_of_its_run(theirs: Any, ours: Any, is_same: bool) -> None:
    airflow, torpor = (
        ComparedRun(state="Succeeded", xcoms={"load": {-1: {"return_value": value}}}) for value in (theirs, ours)
    )
    assert (not comparison.differences(airflow, torpor, without_results=set())) == is_same


def test_a_sensor_that_had_to_wait_in_one_run_is_the_same() -> None:
    answers: Any = {"wait": {-1: {"return_value": True}}, "load": {-1: {"return_value": True, "rows": 1}}}
    airflow, torpor = (
        ComparedRun(state="Succeeded", xcoms=answers),
        ComparedRun(state="Succeeded", xcoms={"wait": {-1: {}}}),
    )
    seen = [comparison.without_answers(each, {"wait"}) for each in (airflow, torpor)]
    assert comparison.differences(*seen, without_results=set()) == [
        "load: XCom return_value: True in Airflow, None here",
        "load: XCom rows: 1 in Airflow, None here",
    ]

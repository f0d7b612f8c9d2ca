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

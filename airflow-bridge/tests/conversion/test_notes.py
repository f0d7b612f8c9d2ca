"""What changes no result has its counterpart or a note: a DAG with it is whole."""

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import ConvertedFile, convert_text

DAG = """
from datetime import timedelta
from airflow.sdk import DAG, task

with DAG("noted", schedule="@daily", is_paused_upon_creation=True, tags=["sales", "daily"]):
    @task(priority_weight=7)
    def heavy(): ...

    @task(weight_rule="absolute")
    def ruled(): ...

    @task(map_index_template="{{ row }}", weight_rule="upstream")
    def mapped(row): ...

    heavy(), ruled(), mapped.expand(row=[1, 2])

with DAG("plain", schedule="@daily", is_paused_upon_creation=False):
    @task(priority_weight=1, weight_rule="downstream")
    def usual(row): ...

    usual.expand(row=[1])

with DAG("by_hand", schedule=None, is_paused_upon_creation=True):
    usual(1)
"""


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> ConvertedFile:
    """The conversion of DAGs with fields that have notes."""
    return convert_text(tmp_path_factory.mktemp("dags"), "dag_of_notes", DAG)


@pytest.mark.parametrize(
    "note",
    [
        "noted: tags daily, sales: add labels or annotations",
        "noted: is_paused_upon_creation: remove suspend before you apply the Schedule again",
        "by_hand: is_paused_upon_creation: there is no Schedule to suspend",
        "heavy: priority_weight: free slots go to the Workflow with the fewest",
        "ruled: weight_rule: free slots go to the Workflow with the fewest",
        "mapped: weight_rule: free slots go to the Workflow with the fewest",
        "mapped: map_index_template: write displayName",
    ],
)
def test_a_field_that_changes_no_result_has_a_note(converted: ConvertedFile, note: str) -> None:
    assert f": note: {note}" in converted.report


def test_only_fields_that_differ_from_the_default_have_notes(converted: ConvertedFile) -> None:
    assert (converted.code, len(converted.report.splitlines())) == (0, 7)


def test_a_dag_that_is_paused_at_first_has_a_suspended_schedule(converted: ConvertedFile) -> None:
    assert converted.schedule("noted")["suspend"] is True
    assert "suspend" not in converted.schedule("plain")
    assert ("by-hand", "Schedule") not in converted.documents

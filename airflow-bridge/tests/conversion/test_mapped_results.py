"""A task that is mapped over the result of an operator gets what it returned, without its links and other XComs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from local_play import SECONDS_MAX
from torpor_airflow.check import local_runs
from torpor_airflow.conversion import command, dag_file, dag_sources, mapping, names
from torpor_airflow.conversion.documents import ConversionTarget
from torpor_expressions import evaluator
from torpor_expressions.value import Value

TARGET = ConversionTarget(image="any:1", pool="airflow", config_map="dags")
DAG = """
from airflow.sdk import DAG, BaseOperator, BaseOperatorLink, task

class JobLink(BaseOperatorLink):
    name = "Job"

    def get_link(self, operator, *, ti_key):
        return "https://jobs.example.org/1"

class LinkedOperator(BaseOperator):
    operator_extra_links = (JobLink(),)

    def __init__(self, *, value, **kwargs):
        super().__init__(**kwargs)
        self.value = value

    def execute(self, context):
        return self.value

with DAG("dag_mapped_results", schedule=None):
    @task
    def pushing(ti):
        ti.xcom_push("rows", 3)
        return [4, 5]

    @task(multiple_outputs=True)
    def several():
        return {"a": 6, "b": 7}

    @task
    def show(value):
        return value

    linked = LinkedOperator(task_id="linked", value=[1, 2])
    each = LinkedOperator.partial(task_id="each").expand(value=[None, 3])
    lists = {"list": linked.output, "instances": each.output, "pushed": pushing(), "fields": several()}
    for name, given in lists.items():
        show.override(task_id=f"of_{name}").expand(value=given)
    show.override(task_id="of_zip").expand(value=linked.output.zip(each.output, fillvalue=0))
"""


async def test_a_task_is_mapped_over_what_an_operator_with_links_returned(tmp_path: Path, python: str) -> None:
    path = tmp_path / "dag_mapped_results.py"
    path.write_text(DAG)
    file = dag_file.read(str(path))
    ((_, conversion),) = command.convert([file], TARGET)
    documents = [command.config_map("dags", dag_sources.texts([file])), conversion.documents[0]]
    async with asyncio.timeout(SECONDS_MAX):
        ended = await local_runs.play(conversion, documents, local_runs.options(tmp_path / "run", python, {}), {})
    found = local_runs.outcome(ended, names.task_names(file.dags[0].task_ids))
    values = {
        task: [each.get("return_value") for _, each in sorted(by_index.items())]
        for task, by_index in found.xcoms.items()
        if task.startswith("of_")
    }
    assert values == {
        "of_list": [1, 2],
        "of_instances": [3],
        "of_pushed": [4, 5],
        "of_fields": [["a", 6], ["b", 7]],
        "of_zip": [[1, 3], [2, 0]],
    }
    assert found.state == "Succeeded"
    assert conversion.is_whole
    assert {each.subject for each in conversion.findings} == {"linked", "each", "pushing", "several"}


@pytest.mark.parametrize(
    ("result", "returned"),
    [
        ([1], [1]),
        ({"a": 1}, {"a": 1}),
        (None, None),
        ({"__xcoms__": {"return_value": [1], "rows": 2}, "__links__": []}, [1]),
        ({"__xcoms__": {"rows": 2}}, None),
    ],
)
def test_the_returned_value_is_read_from_each_form_of_a_result(result: Any, returned: Any) -> None:
    found = evaluator.evaluate_here(mapping.returned_value("result"), {"result": result})
    assert isinstance(found, Value), found
    assert found.json == returned

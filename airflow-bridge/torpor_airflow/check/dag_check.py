"""Checks a converted DAG: one run in Torpor, one in Airflow at the same logical date, and what differs."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_local.options import LocalRunError

from torpor_airflow.check import airflow_runs, comparison, local_runs, prefork
from torpor_airflow.check.airflow_runs import AirflowProcess
from torpor_airflow.check.comparison import ComparedRun
from torpor_airflow.conversion import names
from torpor_airflow.conversion.dag_file import DagFile
from torpor_airflow.conversion.documents import DagConversion

SECONDS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDag:
    """The outcome of a check. `problem`: why there is no comparison."""

    dag_id: str
    instances: int = 0
    problem: str = ""
    differences: Sequence[str] = field(default_factory=tuple)

    @property
    def is_same(self) -> bool:
        """Whether both runs have the same states and results."""
        return not self.problem and not self.differences


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTools:
    """The process of Airflow, the interpreter of the tasks, and a folder for the runs."""

    airflow: AirflowProcess
    python: str
    folder: Path


def check_all(converted: Sequence[tuple[DagFile, DagConversion]]) -> Iterator[CheckedDag]:
    """Check DAGs one after the other, in an Airflow with a database of its own."""
    with tempfile.TemporaryDirectory() as name, tools(Path(name)) as started:
        templates = [one.documents[0] for _, one in converted]
        for file, one in converted:
            yield check(file, one, templates, started)


@contextmanager
def tools(folder: Path) -> Iterator[CheckTools]:
    """Start Airflow and the interpreter of the tasks."""
    log = folder / "airflow.log"
    with prefork.started(folder) as python, airflow_runs.started(folder / "airflow", log) as airflow:
        yield CheckTools(airflow=airflow, python=python, folder=folder / "runs")


def check(
    file: DagFile, conversion: DagConversion, templates: Sequence[Mapping[str, Any]], tools: CheckTools
) -> CheckedDag:
    """Run both, and compare. `templates` are those of all DAGs, for tasks that start other runs."""
    dag = next(each for each in file.dags if each.dag_id == conversion.dag_id)
    try:
        ended = asyncio.run(
            asyncio.wait_for(
                local_runs.play(conversion, templates, tools.folder / conversion.dag_id, tools.python, {}), SECONDS
            )
        )
    except LocalRunError as error:
        return CheckedDag(dag_id=dag.dag_id, problem=f"torpor run: {error}")
    except TimeoutError:
        return CheckedDag(dag_id=dag.dag_id, problem=f"torpor run takes longer than {SECONDS} s")
    torpor = local_runs.outcome(ended, names.task_names(dag.task_ids))
    moment = ended.workflow["metadata"]["creationTimestamp"]
    request = {"module": file.module, "path": str(file.path), "dag": dag.dag_id, "logical_date": moment, "conf": {}}
    found = tools.airflow.test(request | {"seconds": SECONDS})
    if "error" in found:
        return CheckedDag(dag_id=dag.dag_id, problem=f"Airflow: {found['error']}")
    airflow = comparison.of_airflow(found)
    differing = comparison.differences(airflow, torpor, without_results=_incomparable(conversion, dag))
    return CheckedDag(dag_id=dag.dag_id, instances=_count(torpor), differences=differing)


def _incomparable(conversion: DagConversion, dag: Any) -> AbstractSet[str]:
    """Return the tasks whose result has another meaning: branches, and bodies of Torpor instead of an operator."""
    tasks = {each["name"]: each for each in conversion.documents[0]["spec"]["workflow"]["tasks"]}
    found = names.task_names(dag.task_ids)
    return {each for each in dag.task_ids if tasks[found[each]].get("branch") or "use" not in tasks[found[each]]}


def _count(outcome: ComparedRun) -> int:
    return sum(map(len, outcome.states.values()))

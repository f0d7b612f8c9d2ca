"""Checks a converted DAG: one run in Torpor, one in Airflow at the same logical date, and what differs."""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_local.options import LocalRunError
from torpor_wire.reason import Reason

from torpor_airflow.check import airflow_runs, comparison, local_runs, prefork, repeatable, required_params
from torpor_airflow.check.airflow_runs import AirflowProcess
from torpor_airflow.check.comparison import ComparedRun
from torpor_airflow.conversion import dag_sources, names, operator_kind
from torpor_airflow.conversion.dag_file import DagFile
from torpor_airflow.conversion.documents import DagConversion
from torpor_airflow.dag_module import DagFileError

Converted = Sequence[tuple[DagFile, DagConversion]]
SECONDS = 180
"""The limit of one run: a sensor or a wait of a DAG takes its time in Airflow."""
_NO_VARIABLES: Mapping[str, str] = {}
_LATE = f"torpor run takes longer than {SECONDS} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDag:
    """The outcome of a check. `state`: that of the run. `problem`: why there is no comparison."""

    dag_id: str
    state: str = ""
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


def check_all(converted: Converted, sources: Sequence[Mapping[str, Any]]) -> Iterator[CheckedDag]:
    """Check DAGs one after the other, in an Airflow with a database of its own. `sources` are their ConfigMaps."""
    with tempfile.TemporaryDirectory() as name, tools(Path(name)) as started:
        for file, one in converted:
            yield check(file, one, converted, started, sources)


@contextmanager
def tools(folder: Path, variables: Mapping[str, str] = _NO_VARIABLES) -> Iterator[CheckTools]:
    """Start Airflow and the interpreter of the tasks, with these variables. The first check waits for both."""
    home, startup = folder / "airflow", folder / "startup"
    startup.mkdir()
    (startup / "sitecustomize.py").write_text(repeatable.STARTUP_CODE)
    path = os.pathsep.join(filter(None, (str(startup), os.environ.get("PYTHONPATH"))))
    own = {**variables, "AIRFLOW_HOME": str(home), "PYTHONPATH": path}
    log = folder / "airflow.log"
    with prefork.started(folder, own) as python, airflow_runs.started(home, log, own) as airflow:
        yield CheckTools(airflow=airflow, python=python, folder=folder / "runs")


def check(
    file: DagFile,
    conversion: DagConversion,
    converted: Converted,
    tools: CheckTools,
    sources: Sequence[Mapping[str, Any]] = (),
) -> CheckedDag:
    """Run both, and compare. `converted` has the DAGs that its tasks may start."""
    dag = next(each for each in file.dags if each.dag_id == conversion.dag_id)
    conf = required_params.samples({name: dag.params.get_param(name) for name in dag.params})
    needed = _with_started(file, conversion, converted)
    files = [each for each, _ in needed]
    try:
        tools.airflow.wait()
        tools.airflow.place({**{each.path.name: each.path for each in files}, **dag_sources.paths(files)})
    except (LocalRunError, DagFileError) as error:
        return CheckedDag(dag_id=dag.dag_id, problem=str(error))
    documents = [*sources, *(one.documents[0] for _, one in needed)]
    options = local_runs.options(tools.folder / conversion.dag_id, tools.python, {})
    try:
        ended = asyncio.run(asyncio.wait_for(local_runs.play(conversion, documents, options, conf), SECONDS))
    except LocalRunError as error:
        return CheckedDag(dag_id=dag.dag_id, problem=f"torpor run: {error}")
    except TimeoutError:
        return CheckedDag(dag_id=dag.dag_id, problem=_LATE)
    if ended.reason == Reason.CANCELLED:  # at the limit, the engine cancels the run
        return CheckedDag(dag_id=dag.dag_id, problem=_LATE)
    torpor = local_runs.outcome(ended, names.task_names(dag.task_ids))
    moment = ended.workflow["metadata"]["creationTimestamp"]
    request = {"module": file.module, "path": str(file.path), "dag": dag.dag_id, "logical_date": moment, "conf": conf}
    found = tools.airflow.test(request | {"seconds": SECONDS})
    if "error" in found:
        return CheckedDag(dag_id=dag.dag_id, problem=f"Airflow: {found['error']}")
    sensors = {each.task_id for each in dag.tasks if operator_kind.is_a(each, "BaseSensorOperator")}
    airflow = comparison.without_answers(comparison.of_airflow(found), sensors)
    torpor = comparison.without_answers(torpor, sensors)
    differing = comparison.differences(airflow, torpor, without_results=_incomparable(conversion, dag))
    return CheckedDag(dag_id=dag.dag_id, state=torpor.state, instances=_count(torpor), differences=differing)


def _with_started(file: DagFile, conversion: DagConversion, converted: Converted) -> Converted:
    """Return a DAG, and those that its tasks start, and so on."""
    by_name = {_name(one): (each, one) for each, one in converted}
    found = {_name(conversion): (file, conversion)}
    waiting = [conversion]
    while waiting:
        for task in waiting.pop().documents[0]["spec"]["workflow"]["tasks"]:
            started = task.get("run", {}).get("templateRef", {}).get("name")
            if started in by_name and started not in found:
                found[started] = by_name[started]
                waiting.append(by_name[started][1])
    return [*found.values()]


def _name(conversion: DagConversion) -> str:
    return str(conversion.documents[0]["metadata"]["name"])


def _incomparable(conversion: DagConversion, dag: Any) -> AbstractSet[str]:
    """Return the tasks whose result has another meaning: branches, and bodies of Torpor instead of an operator."""
    tasks = {each["name"]: each for each in conversion.documents[0]["spec"]["workflow"]["tasks"]}
    found = names.task_names(dag.task_ids)
    return {each for each in dag.task_ids if tasks[found[each]].get("branch") or "use" not in tasks[found[each]]}


def _count(outcome: ComparedRun) -> int:
    return sum(map(len, outcome.states.values()))

"""What a workflow function builds."""

import asyncio
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor.authoring import expression, group, python, results, run, text, wait, workflow
from torpor.options import TaskOptions, WorkflowOptions, field_name
from torpor_crds.models.task import Task as TaskModel
from torpor_crds.models.workflow import WorkflowSpec

from tests.unit.worker.authoring import sample
from tests.unit.worker.authoring.sample import fetch, list_files, load, report

ROOT = Path(__file__).parents[4]
SAMPLE = "tests.unit.worker.authoring.sample"
INGEST = """
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {generateName: ingest-}
spec:
  params: {day: "2026-11-20"}
  image: registry.example.org/team/ingest:1.4
  tasks:
  - name: drop
    trigger: {class: http, kwargs: {url: "https://example.org/${params.day}/_SUCCESS"}, timeout: 6h}
  - name: list
    after: [drop]
    python: "ingest.tasks:list_files"
    args: {day: "${params.day}"}
  - name: load
    python: "ingest.tasks:load"
    expand: [{name: path, over: "${tasks.list.result.filter(f, f.endsWith('.csv'))}"}]
    retries: {limit: 3, delay: 10s}
  - name: report
    python: "ingest.tasks:report"
    args: {rows: "${tasks.load.results}"}
"""


def tasks(function: Callable[..., object]) -> list[dict[str, Any]]:
    """The tasks of a workflow function without params."""
    return list(workflow(function)()["spec"]["tasks"])


def test_a_function_builds_the_object_of_the_yaml() -> None:
    @workflow(image="registry.example.org/team/ingest:1.4")
    def ingest(day: str = "2026-11-20") -> None:
        drop = wait.options(name="drop")("http", url=text("https://example.org/{day}/_SUCCESS", day=day), timeout="6h")
        files = list_files.options(name="list").after(drop)(day)
        tables = expression("{files}.filter(f, f.endsWith('.csv'))", files=files)
        rows = load.options(retries={"limit": 3, "delay": "10s"}).expand(path=tables)
        report(rows)

    assert ingest() == yaml.safe_load(INGEST.replace("ingest.tasks:", f"{SAMPLE}:"))


def test_the_compiled_example_is_the_object_that_its_function_builds() -> None:
    from ingest.flows import sales  # noqa: PLC0415 - a package of examples/

    assert sales() == yaml.safe_load((ROOT / "examples/authoring/workflow.yaml").read_text())


def test_arguments_of_the_function_are_params() -> None:
    @workflow
    def ingest(day: str, limit: int = 3, *, regions: list[str], dry: bool = False, more: object = None) -> None:
        load(day, limit)

    body = ingest("2026-11-20", regions=["north"])
    assert body["spec"]["params"] == {
        "day": "2026-11-20",
        "limit": 3,
        "regions": ["north"],
        "dry": False,
        "more": None,
    }
    assert body["spec"]["tasks"][0]["args"] == {"path": "${params.day}", "minimum": "${params.limit}"}
    assert ingest.params() == [
        {"name": "day", "type": "string"},
        {"name": "limit", "type": "integer", "default": 3},
        {"name": "regions", "type": "array"},
        {"name": "dry", "type": "boolean", "default": False},
        {"name": "more", "default": None},
    ]
    assert ingest.build({})["spec"]["params"]["day"] is None


def test_options_of_the_workflow_are_fields_of_its_spec() -> None:
    @workflow(image="x:1", max_map_size=3, pods_ttl="1d", timeout="2h")
    def Daily_Ingest() -> None:  # noqa: N802
        load("Ulm")

    body = Daily_Ingest()
    assert body["metadata"] == {"generateName": "daily-ingest-"}
    fields = {name: body["spec"][name] for name in ("image", "maxMapSize", "podsTTL", "timeout")}
    assert fields == {"image": "x:1", "maxMapSize": 3, "podsTTL": "1d", "timeout": "2h"}


def test_a_task_has_the_name_of_its_function_and_a_number() -> None:
    def flow() -> None:
        for day in ("monday", "tuesday"):
            list_files(day)
        list_files.options(name="list_files_3")("sunday")
        list_files("friday")
        python("legacy.tasks:_LoadÄll9")(x=1)
        python(f"legacy.tasks:{'x' * 50}")()
        python(f"legacy.tasks:{'x' * 50}")()

    names = [task["name"] for task in tasks(flow)]
    assert names == ["list_files", "list_files_2", "list_files_3", "list_files_4", "loadll9", "x" * 36, f"{'x' * 36}_2"]


def test_an_attribute_with_an_underscore_needs_an_index() -> None:
    def flow() -> None:
        files: Any = list_files("monday")
        load(files._x)

    with pytest.raises(AttributeError, match=r"has no attribute _x; write \['_x'\]"):
        tasks(flow)


def test_parts_of_a_result_are_written_as_cel_reads_them() -> None:
    def flow() -> None:
        files: Any = list_files("monday")
        both = expression("{files} + {more}", files=files, more=["x", True, None])
        report([files[0].name, files["a b"], files["in"], files[files.last], files['"'], both[0], {"x": both}])  # type: ignore[list-item]

    base = "tasks.list_files.result"
    assert tasks(flow)[1]["args"]["rows"] == [
        f"${{{base}[0].name}}",
        f'${{{base}["a b"]}}',
        f'${{{base}["in"]}}',
        f"${{{base}[{base}.last]}}",
        f'${{{base}["\\""]}}',
        f'${{({base} + ["x", true, null])[0]}}',
        {"x": f'${{{base} + ["x", true, null]}}'},
    ]


def test_a_mapped_task_has_fixed_arguments_and_lists() -> None:
    def flow() -> None:
        rows = load.partial(minimum=3).expand(path=list_files("monday"))
        load.expand(path=["a", "b"], minimum={"x": 1})
        load.partial("x").expand_kwargs([{"minimum": 1}])
        report(rows)

    declared = tasks(flow)
    over = "${tasks.list_files.result}"
    assert declared[1]["args"] == {"minimum": 3}
    assert declared[1]["expand"] == [{"name": "path", "over": over}]
    assert declared[2]["expand"] == [{"name": "path", "over": ["a", "b"]}, {"name": "minimum", "over": {"x": 1}}]
    assert "args" not in declared[2]
    assert (declared[3]["args"], declared[3]["expandKwargs"]) == ({"path": "x"}, [{"minimum": 1}])
    assert declared[4]["args"] == {"rows": "${tasks.load.results}"}


def test_tasks_of_a_group_see_each_other_and_a_task_outside_sees_all_results() -> None:
    @workflow
    def flow() -> None:
        cities = list_files("monday")
        with group("country", country=cities) as country:
            with group("city", city=country.value.cities) as city:
                loaded = load(city.value)
                parts = load.options(name="parts").expand(path=expression("{country}.key", country=country))
                report.options(name="of_city")([loaded, *[]])
            report.options(name="of_country")(results(loaded))
        report.after(city)(expression("{a} + {b}", a=results(loaded), b=results(parts)))

    spec = flow()["spec"]
    assert spec["groups"] == [
        {"name": "country", "expand": [{"name": "country", "over": "${tasks.list_files.result}"}]},
        {"name": "city", "in": "country", "expand": [{"name": "city", "over": "${groups.country.value.cities}"}]},
    ]
    by_name = {task["name"]: task for task in spec["tasks"]}
    assert [task.get("group") for task in spec["tasks"]] == [None, "city", "city", "city", "country", None]
    assert by_name["load"]["args"] == {"path": "${groups.city.value}"}
    assert by_name["parts"]["expand"][0]["over"] == "${groups.country.key}"
    assert by_name["of_city"]["args"] == {"rows": ["${tasks.load.result}"]}
    assert by_name["of_country"]["args"] == {"rows": "${tasks.load.results}"}
    assert by_name["report"]["after"] == ["city"]
    assert by_name["report"]["args"] == {"rows": "${tasks.load.results + tasks.parts.results}"}


def test_a_task_outside_of_a_workflow_is_the_function() -> None:
    assert list_files("monday") == ["monday/a.csv", "monday/b.csv"]
    assert load.options(retries=3)(path="abc") == 3
    assert asyncio.run(fetch("Ulm")) == "Ulm"
    assert sample.Holder().method("x") == "x"
    assert sample.Copy(source="x").source == "x"
    assert pickle.loads(pickle.dumps(load)) is load
    assert (load.__name__, load.__doc__) == ("load", "The length of a path.")


def test_a_thread_beside_a_workflow_function_calls_the_function() -> None:
    values: list[object] = []

    def flow() -> None:
        list_files("monday")
        thread = threading.Thread(target=lambda: values.append(load("abc")))
        thread.start()
        thread.join()

    assert len(tasks(flow)) == 1
    assert values == [3]


def test_a_plain_function_may_call_tasks_for_several_workflows() -> None:
    def both(day: str) -> None:
        report([load(path) for path in (day, "x")])

    assert [task["name"] for task in tasks(lambda: both("monday"))] == ["load", "load_2", "report"]


@pytest.mark.parametrize(("known", "model"), [(TaskOptions, TaskModel), (WorkflowOptions, WorkflowSpec)])
def test_every_field_of_the_model_is_an_option_or_has_another_way(known: type, model: Any) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()}
    others = {"after", "group", "python", "container", "run", "object", "use", "http", "args", "expand", "expandKwargs"}
    others |= {"templateRef", "runOf", "parent", "params", "groups", "tasks", "suspend", "stop", "cancel"}
    options = {field_name(name) for name in known.__annotations__}
    assert fields - others <= options
    assert options <= fields


def test_the_package_has_at_most_600_lines() -> None:
    files = sorted((ROOT / "worker-image/torpor/authoring").glob("*.py"))
    assert sum(len(path.read_text().splitlines()) for path in files) <= 600


def test_a_pod_whose_module_has_a_workflow_imports_nothing_heavy_for_it() -> None:
    script = "import ingest.flows; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[1:1] = {sys.path!r}; {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"asyncio", "dataclasses", "inspect", "traceback"} & set(done.stdout.split()) == set()


def test_what_the_function_returns_is_the_result_of_the_run() -> None:
    @workflow
    def ingest() -> object:
        return load("a.csv")

    assert ingest()["spec"]["result"] == "tasks.load.result"


def test_only_a_reference_can_be_the_result_of_a_run() -> None:
    @workflow
    def ingest() -> object:
        load("a.csv")
        return 3

    with pytest.raises(TypeError, match="ingest returned 3; return what a task returned, or expression"):
        ingest()


def test_one_instance_of_a_group_cannot_be_the_result_of_a_run() -> None:
    @workflow
    def ingest() -> object:
        with group("files", path=["a", "b"]) as files:
            return load(files.value)

    with pytest.raises(TypeError, match="this place is outside of the group"):
        ingest()


def test_a_run_has_a_name_and_can_be_left() -> None:
    @workflow
    def nightly() -> None:
        run("load", run_name="load-1", deletion_policy="Retain")
        run("announce", wait=False)

    kept, left = (task["run"] for task in nightly()["spec"]["tasks"])
    assert kept == {"templateRef": {"name": "load"}, "name": "load-1", "deletionPolicy": "Retain"}
    assert left == {"templateRef": {"name": "announce"}, "wait": False}


def test_a_run_of_a_template_is_a_task() -> None:
    @workflow
    def nightly() -> None:
        city = run("load-city", city="Ulm", timeout="6h")
        run.partial("load-city").expand(city=[city.next, "Bonn"])

    reference = {"name": "load-city"}
    assert nightly()["spec"]["tasks"] == [
        {"name": "load_city", "run": {"templateRef": reference, "params": {"city": "Ulm"}, "timeout": "6h"}},
        {
            "name": "load_city_2",
            "run": {"templateRef": reference},
            "expand": [{"name": "city", "over": ["${tasks.load_city.result.next}", "Bonn"]}],
        },
    ]

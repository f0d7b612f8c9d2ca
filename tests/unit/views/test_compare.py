"""Two runs side by side."""

from torpor_views import compare
from torpor_views.compare import MISSING, Comparison
from torpor_views.model import RunView

from tests.unit.views.objects import NOW, Object, at, python, taskrun, workflow


def compared(
    left: Object, right: Object, lefts: list[Object] | None = None, rights: list[Object] | None = None
) -> Comparison:
    return compare.build(RunView.parse(left, lefts or [], now=NOW), RunView.parse(right, rights or [], now=NOW))


def test_params_are_compared_by_value_and_type() -> None:
    left = workflow(python("load"), params={"day": "1", "same": [1], "null": None, "only": 1, "flag": 1})
    right = workflow(python("load"), params={"day": "2", "same": [1], "null": None, "more": 2, "flag": True})
    differences = {param.name: param for param in compared(left, right).params}
    assert list(differences) == ["day", "same", "null", "only", "flag", "more"]
    assert [name for name, difference in differences.items() if difference.differs] == ["day", "only", "flag", "more"]
    assert (differences["only"].right, differences["more"].left, differences["null"].left) == (MISSING, MISSING, None)


def test_the_image_is_the_one_that_ran() -> None:
    body = workflow(python("load"), python("check", image="check:1"), image="etl:1")
    ran = taskrun("load", "Succeeded", spec={"image": "etl:0"})
    comparison = compared(body, body, [ran])
    assert [(image.name, image.left, image.right) for image in comparison.images] == [
        ("load", "etl:0", "etl:1"),
        ("check", "check:1", "check:1"),
    ]


def test_the_durations_and_outcomes_of_tasks_are_side_by_side() -> None:
    body = workflow(python("load", "Succeeded"), python("report", "Failed", reason="Error"))
    other = workflow(python("load", "Succeeded"), python("extra"))
    quick = taskrun("load", "Succeeded", startedAt=at(-100), completionTime=at(-90))
    slow = taskrun("load", "Succeeded", startedAt=at(-100), completionTime=at(-60), attempt=2)
    load, report, extra = compared(body, other, [quick], [slow]).tasks
    assert load.left is not None
    assert load.right is not None
    assert (load.change, load.differs, load.left.attempts, load.right.attempts) == (30, False, 1, 2)
    assert report.left is not None
    assert (report.left.state, report.left.reason, report.right, report.differs) == ("Failed", "Error", None, True)
    assert (extra.left, extra.change) == (None, None)


def test_the_whole_runs_are_a_row() -> None:
    left = workflow(state="Succeeded", status={"completionTime": at(-500)})
    right = workflow(state="Failed", status={"completionTime": at(-100)})
    whole = compared(left, right).run
    assert (whole.change, whole.differs) == (400, True)


def test_a_run_shows_progress_from_its_status_and_a_task_from_its_counts() -> None:
    expand = [{"name": "x", "over": [1]}]
    body = workflow(
        python("load", "Failed", expand=expand, counts={"total": 2, "created": 2, "succeeded": 1, "failed": 1}),
        python("report", "UpstreamFailed", after=["load"]),
        state="Failed",
        status={"progress": "2/3"},
    )
    comparison = compared(body, body)
    sides = [row.left.progress for row in (comparison.run, *comparison.tasks) if row.left is not None]
    assert sides == ["2/3", "2/2, 1 failed", ""]


def test_a_task_in_a_group_is_found() -> None:
    body = workflow(python("load", group="cities"), groups=[{"name": "cities"}])
    assert [row.task for row in compared(body, body).tasks if row.left] == ["load"]


def test_the_code_and_its_config_map_are_compared() -> None:
    source = {"configMap": "steps"}
    left = workflow(python("load", source=source), {"name": "shell", "container": {"command": ["a"]}})
    right = workflow({**python("load", source=source), "python": "etl.tasks:other"}, left["spec"]["tasks"][1])
    ran = [taskrun("load", "Succeeded", pod={"name": "p", "source": f"sha256:{digit * 16}"}) for digit in "12"]
    comparison = compared(left, right, ran[:1], ran[1:])
    assert [(row.name, row.left, row.right) for row in comparison.code if row.differs] == [
        ("load", "etl.tasks:run", "etl.tasks:other")
    ]
    assert [(row.name, row.left, row.right) for row in comparison.sources] == [
        ("load", "steps sha256:1111111111111111", "steps sha256:2222222222222222")
    ]

from typing import Any

from torpor_views import critical_path

from tests.unit.views.objects import Object, at, python, run, taskrun, workflow


def ended(task: str, *path: int, created: float, completed: float, state: str = "Succeeded", **fields: Any) -> Object:
    metadata = {"creationTimestamp": at(created)}
    return taskrun(task, state, *path, metadata=metadata, completionTime=at(completed), **fields)


def refs(body: Object, *taskruns: Object) -> list[str]:
    return [instance.ref for instance in critical_path.build(run(body, *taskruns))]


def test_the_path_is_the_chain_that_ended_last() -> None:
    body = workflow(
        python("a"),
        python("b", after=["a"]),
        python("c", after=["a"]),
        python("d", after=["b", "c"]),
        state="Succeeded",
    )
    path = refs(
        body,
        ended("a", created=-500, completed=-400),
        ended("b", created=-400, completed=-390),
        ended("c", created=-400, completed=-300),
        ended("d", created=-300, completed=-200),
    )
    assert path == ["a", "c", "d"]


def test_the_path_of_a_run_that_goes_on_ends_with_what_is_open_longest() -> None:
    body = workflow(python("a"), python("b", after=["a"]), python("c"))
    path = refs(
        body,
        ended("a", created=-500, completed=-400),
        taskrun("b", "Deferred", metadata={"creationTimestamp": at(-399)}),
        taskrun("c", "Running", metadata={"creationTimestamp": at(-50)}),
    )
    assert path == ["a", "b"]


def test_an_upstream_instance_that_ended_later_released_nothing() -> None:
    body = workflow(python("a"), python("b"), python("c", after=["a", "b"], rule="one_success"), state="Succeeded")
    path = refs(
        body,
        ended("a", created=-500, completed=-400),
        ended("b", created=-500, completed=-100, state="Failed"),
        ended("c", created=-399, completed=-50),
    )
    assert path == ["a", "c"]


def test_instances_of_a_group_follow_those_of_the_same_iteration() -> None:
    body = workflow(
        python("a", group="g"),
        python("b", group="g", after=["a"]),
        groups=[{"name": "g", "expand": [{"name": "n", "over": [1, 2]}]}],
        state="Succeeded",
    )
    path = refs(
        body,
        ended("a", created=-500, completed=-400, groups=(0,)),
        ended("a", created=-500, completed=-390, groups=(1,)),
        ended("b", created=-389, completed=-300, groups=(1,)),
        ended("b", created=-399, completed=-200, groups=(0,)),
    )
    assert path == ["a/0", "b/0"]


def test_a_task_without_instances_passes_through() -> None:
    body = workflow(python("a"), python("b", "Skipped", after=["a"]), python("c", after=["b"]), state="Succeeded")
    path = refs(body, ended("a", created=-500, completed=-400), ended("c", created=-399, completed=-300))
    assert path == ["a", "c"]


def test_a_hook_comes_after_the_last_task() -> None:
    body = workflow(python("a"), python("b"), python("tell", hook="on_exit"), state="Succeeded")
    path = refs(
        body,
        ended("a", created=-500, completed=-400),
        ended("b", created=-500, completed=-300),
        ended("tell", created=-299, completed=-290),
    )
    assert path == ["b", "tell"]


def test_a_run_without_instances_has_no_path() -> None:
    assert refs(workflow(python("a"))) == []

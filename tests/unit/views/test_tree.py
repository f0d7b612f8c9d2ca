"""The tree of a run: groups as levels, tasks in order, mapped tasks folded."""

from torpor_views import counts, tree
from torpor_views.tree import NodeKind, TreeNode

from tests.unit.views.objects import NOW, at, python, run, taskrun, workflow


def names(nodes: tuple[TreeNode, ...]) -> list[object]:
    return [[node.label, names(node.children)] if node.kind is NodeKind.GROUP else node.label for node in nodes]


def test_groups_are_levels_at_the_place_of_their_first_task() -> None:
    body = workflow(
        python("list"),
        python("load", group="cities", after=["list"]),
        python("report", after=["load"]),
        python("check", group="days", after=["load"]),
        groups=[{"name": "cities"}, {"name": "days", "in": "cities"}],
    )
    assert names(tree.build(run(body)).nodes) == ["list", ["cities", ["load", ["days", ["check"]]]], "report"]


def test_a_mapped_task_is_folded_from_the_status_alone() -> None:
    known = {"total": 10_000, "created": 10_000, "succeeded": 9_957, "deferred": 40, "failed": 3}
    body = workflow(python("load", "Running", counts=known, expand=[{"name": "x", "over": [1]}]))
    (node,) = tree.build(run(body)).nodes
    assert node.folded
    assert counts.summary(node.counts) == "9960/10000, 40 waiting, 3 failed"
    assert node.children == ()


def test_unfolded_instances_begin_with_the_failed_ones() -> None:
    expand = [{"name": "x", "over": [1]}]
    states = ("Succeeded", "Running", "Failed", "Deferred", "Failed")
    some = [taskrun("load", state, index) for index, state in enumerate(states)]
    parsed = run(workflow(python("load", "Running", expand=expand)), *some)
    (node,) = tree.build(parsed, unfold={"load"}, limit=4).nodes
    assert [(child.ref, child.state) for child in node.children] == [
        ("load/2", "Failed"),
        ("load/4", "Failed"),
        ("load/1", "Running"),
        ("load/3", "Deferred"),
    ]
    assert node.hidden == 1
    assert tree.build(parsed, unfold=tree.ALL).nodes[0].children != ()
    assert tree.build(parsed).nodes[0].children == ()


def test_the_only_instance_gives_the_state_and_the_duration_of_its_task() -> None:
    body = taskrun("load", "Deferred", startedAt=at(-90), attempt=2, firstStartedAt=at(-200))
    (node,) = tree.build(run(workflow(python("load", "Running")), body)).nodes
    assert (node.state, node.attempt, node.duration, node.ended) == ("Deferred", 2, 200, None)


def test_a_task_that_failed_after_its_instance_succeeded_shows_failed() -> None:
    body = workflow(python("choose", "Failed", reason="BranchInvalid", message="no such task"))
    (node,) = tree.build(run(body, taskrun("choose", "Succeeded"))).nodes
    assert (node.state, node.reason) == ("Failed", "BranchInvalid")


def test_a_mapped_task_lasts_from_its_first_start_to_its_last_end() -> None:
    expand = [{"name": "x", "over": [1]}]
    some = [
        taskrun("load", "Succeeded", 0, startedAt=at(-100), completionTime=at(-50)),
        taskrun("load", "Succeeded", 1, startedAt=at(-80), completionTime=at(-20)),
    ]
    (node,) = tree.build(run(workflow(python("load", "Succeeded", expand=expand)), *some)).nodes
    assert (node.duration, node.ended) == (80, NOW - 20)


def test_a_group_has_the_state_of_its_tasks() -> None:
    def state(*states: str) -> str:
        tasks = [python(f"t{n}", state, group="g") for n, state in enumerate(states)]
        return tree.build(run(workflow(*tasks, groups=[{"name": "g"}]))).nodes[0].state

    assert state("Pending", "Pending") == "Pending"
    assert state("Succeeded", "Pending") == "Running"
    assert state("Succeeded", "UpstreamFailed", "Failed") == "Failed"
    assert state("Skipped", "Succeeded") == "Succeeded"
    assert state("Skipped", "Skipped") == "Skipped"


def test_the_run_has_its_verdict_and_its_duration() -> None:
    status = {"completionTime": at(-100), "conditions": [{"type": "Succeeded", "status": "False", "reason": "Error"}]}
    whole = tree.build(run(workflow(python("load"), state="Failed", status=status, age=600)))
    assert (whole.state, whole.reason, whole.duration) == ("Failed", "Error", 500)

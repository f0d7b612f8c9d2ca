"""Messages that name what the commands take."""

from torpor_views import messages, tree

from tests.unit.views.objects import Object, python, run, taskrun, verdict, workflow

EXPAND = [{"name": "x", "over": [1]}]


def failed(*tasks: Object, message: str) -> Object:
    return workflow(*tasks, state="Failed", status={"conditions": [verdict("Error", message, "False")]})


def test_a_failed_run_names_its_failed_tasks_which_have_their_own_messages() -> None:
    body = taskrun("load", "Failed", reason="Error", message="boom")
    message = f"task load failed: Error: TaskRun {body['metadata']['name']}: boom"
    tasks = [python(name, "Failed", reason="Error") for name in ("load", "check")]
    assert tree.build(run(failed(tasks[0], message=message), body)).message == "task load failed"
    assert tree.build(run(failed(*tasks, message=message), body)).message == "tasks load and check failed"
    assert tree.build(run(failed(*tasks, message="spec.stop was set"), body)).message == "spec.stop was set"


def test_names_of_taskruns_are_omitted_or_become_names_of_instances() -> None:
    plain, mapped = taskrun("load", "Failed"), taskrun("check", "Failed", 3)
    parsed = run(workflow(python("load"), python("check", expand=EXPAND)), plain, mapped)
    names = [body["metadata"]["name"] for body in (plain, mapped)]
    assert messages.readable(parsed, f"Error: TaskRun {names[0]}: boom") == "Error: boom"
    assert messages.readable(parsed, f"Error: TaskRun {names[1]}: boom") == "Error: check/3: boom"
    assert messages.readable(parsed, "Error: TaskRun other: boom") == "Error: TaskRun other: boom"


def test_a_task_that_an_ended_run_never_started_says_so() -> None:
    ended = run(failed(python("load"), message="task load: no such field"))
    assert [node.message for node in tree.build(ended).nodes] == ["did not start: the run has ended"]
    assert [node.message for node in tree.build(run(workflow(python("load")))).nodes] == [""]

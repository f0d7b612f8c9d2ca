"""The problems of a run in one line."""

from torpor_operator.workflows.plan.task_problems import TaskProblem, summary


def test_a_long_problem_keeps_its_beginning_and_its_end() -> None:
    problem = TaskProblem(task="load", failed=True, reason="Error", message=f"{'x' * 600} run this command")
    line = summary([problem])
    assert line.startswith("task load failed: xxx")
    assert line.endswith("x run this command")
    assert " ... " in line

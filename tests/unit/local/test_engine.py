"""A Workflow is played to its end by the shipped operator, triggerer and worker."""

from pathlib import Path

from tests.unit.local.local_runs import Changes, play


async def test_python_tasks_and_a_wait_run_to_their_end(tmp_path: Path) -> None:
    seen = Changes()
    outcome = await play(
        tmp_path,
        {"name": "first", "python": "local_tasks:add", "args": {"a": 1, "b": 2}},
        {"name": "pause", "trigger": {"class": "duration", "kwargs": {"duration": "100ms"}}},
        {
            "name": "second",
            "python": "local_tasks:add",
            "after": ["pause"],
            "args": {"a": "${tasks.first.result}", "b": 4},
        },
        seen=seen,
    )
    assert (outcome.state, outcome.results["second"]) == ("Succeeded", 7)
    assert seen.states_of("pause") == ["Scheduled", "Deferred", "Succeeded"]
    assert seen.states_of("second") == ["Scheduled", "Running", "Succeeded"]


async def test_tasks_run_in_the_folder_of_the_user(tmp_path: Path) -> None:
    outcome = await play(tmp_path, {"name": "where", "python": "local_tasks:folder"})
    assert outcome.results["where"] == str(tmp_path)


async def test_the_output_of_a_pod_is_in_its_log(tmp_path: Path) -> None:
    outcome = await play(tmp_path, {"name": "one", "python": "local_tasks:add", "args": {"a": 1, "b": 2}})
    pod = outcome.objects["Pod"][0]["metadata"]["name"]
    assert "adding 1 and 2" in (tmp_path / "run" / "logs" / f"{pod}.log").read_text()


async def test_a_missing_module_is_reported_with_the_interpreter(tmp_path: Path) -> None:
    outcome = await play(tmp_path, {"name": "bad", "image": "python:3.12-slim", "python": "no_such_module:f"})
    message = outcome.objects["TaskRun"][0]["status"]["message"]
    assert message.startswith("no module 'no_such_module' in this interpreter (")


async def test_a_failed_task_fails_the_run(tmp_path: Path) -> None:
    outcome = await play(tmp_path, {"name": "bad", "python": "local_tasks:fail"})
    assert outcome.state == "Failed"
    assert "no such file" in outcome.objects["TaskRun"][0]["status"]["message"]


async def test_a_task_resumes_with_the_event_of_its_wait(tmp_path: Path) -> None:
    wait = {"trigger": "time", "kwargs": {"at": "2026-01-01T00:00:00Z"}}
    outcome = await play(tmp_path, {"name": "wait", "python": "local_tasks:wait", "args": wait})
    assert outcome.results["wait"].startswith("2026-01-01T00:00:00")


async def test_a_breakpoint_in_a_run_is_answered_with_the_command_for_a_debugger(tmp_path: Path) -> None:
    outcome = await play(tmp_path, {"name": "bad", "python": "local_tasks:debugged", "retries": {"limit": 3}})
    status = outcome.objects["TaskRun"][0]["status"]
    assert status["message"] == (
        "BdbQuit: a debugger needs a terminal: run the task alone, with `torpor run FILE --task NAME`"
    )
    assert status["attempt"] == 1

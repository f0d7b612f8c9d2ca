import pytest
from torpor_client.changes import clear_preview, commands, effects
from torpor_client.schedules import upcoming

from tests.unit.views.objects import deferred, python, run, taskrun, workflow

BODY = workflow(python("load", "Running"), python("report", after=["load"]), python("tell", hook="end"))


@pytest.mark.parametrize(
    ("verb", "sentence"),
    [
        ("suspend", "No further task of etl starts. 1 task in or before a pod and 1 wait go on."),
        ("resume", "etl continues: tasks that are ready start."),
        (
            "stop",
            "etl ends as Cancelled. 1 task in or before a pod and 1 wait are cancelled. Then its hooks run: tell.",
        ),
        (
            "cancel",
            "etl ends as Cancelled, without its hooks. 1 task in or before a pod and 1 wait are cancelled.",
        ),
        ("delete", "etl is deleted with its 2 TaskRuns and their pods."),
    ],
)
def test_a_verb_says_what_happens_to_tasks_and_waits(verb: str, sentence: str) -> None:
    body = workflow(python("load", "Running", expand=[{"name": "x", "over": [1, 2]}]), python("tell", hook="end"))
    view = run(body, taskrun("load", "Running", 0), deferred("load", 1))
    assert effects.of_control(view, verb)[0] == sentence


def test_a_deletion_counts_taskruns_that_were_not_read() -> None:
    body = workflow(python("load", "Succeeded", counts={"total": 5, "created": 5, "succeeded": 5}), state="Succeeded")
    assert effects.of_control(run(body), "delete")[0] == "etl is deleted with its 5 TaskRuns and their pods."


def test_a_clear_lists_what_runs_again_with_its_dependents() -> None:
    view = run(BODY, taskrun("load", "Failed"), taskrun("report", "Succeeded"))
    cleared = clear_preview.preview(view, "load")
    assert effects.of_clear(cleared) == (
        "load (1 TaskRun)",
        "report (1 TaskRun, depends on these)",
        "tell (not started yet, depends on these)",
    )


def test_a_long_list_is_cut_and_counted() -> None:
    cleared = [clear_preview.PreviewedTask(name=f"t{number}", instances=2, named=True) for number in range(30)]
    lines = effects.of_clear(cleared)
    assert len(lines) == 11
    assert lines[-1] == "and 20 more: 30 tasks, 60 TaskRuns"


def test_a_new_run_lists_the_params_that_differ() -> None:
    lines = effects.of_new_run("data", "template etl", {"day": "2026-11-21", "n": 1}, {"day": "2026-11-20", "n": 1})
    assert lines == (
        "A new run of template etl is created in namespace data.",
        'day: "2026-11-21" instead of "2026-11-20"',
    )


def test_true_differs_from_one() -> None:
    assert len(effects.of_new_run("data", "x", {"n": True}, {"n": 1})) == 2


def test_a_backfill_counts_its_ticks_up_to_a_bound() -> None:
    schedule = {"metadata": {"name": "nightly"}, "spec": {"sources": [{"name": "night", "cron": "* * * * *"}]}}
    ticks = list(upcoming.between(upcoming.crons(schedule), 0.0, 3600.0))
    assert effects.of_backfill(ticks, {"concurrency": 2}, 100)[0] == (
        "The period has 60 ticks. Ticks without a run get one, 2 at a time."
    )
    assert effects.of_backfill(ticks, {}, 10)[0].startswith("The period has more than 10 ticks.")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (commands.of_runs("cancel", "data", ["a", "b"]), "torpor cancel a b -n data"),
        (commands.retry("data", "a", ["load/3"]), "torpor retry a load/3 -n data"),
        (
            commands.mark("data", "a", ["load", "x"], "skipped", "it's late"),
            (
                "torpor mark a/load skipped --because 'it'\"'\"'s late' -n data\n"
                "torpor mark a/x skipped --because 'it'\"'\"'s late' -n data"
            ),
        ),
        (commands.answer("approve", "data", "a", "ok", "$(x)"), "torpor approve a/ok --note '$(x)' -n data"),
        (
            commands.answer("approve", "data", "a", "ok", fields={"why": "$(x)", "n": 3}, options=["all", "a b"]),
            "torpor approve a/ok --field 'why=$(x)' --field n=3 --option all --option 'a b' -n data",
        ),
        (
            commands.submit("data", "etl", {"day": "2026-11-20", "n": 3, "on": True}),
            "torpor submit --template etl -p day=2026-11-20 -p n=3 -p on=true -n data",
        ),
        (commands.resubmit("data", "a", {}), "torpor resubmit a -n data"),
        (commands.of_schedules("pause", "data", ["nightly"]), "torpor schedule pause nightly -n data"),
        (
            commands.backfill("data", {"schedule": "n", "from": "F", "to": "T", "rerun": "failed", "reverse": True}),
            "torpor backfill create n --from F --to T --reverse --rerun failed -n data",
        ),
    ],
)
def test_an_act_has_a_command_that_a_shell_reads_as_meant(command: str, line: str) -> None:
    assert command == line


@pytest.mark.attack
def test_a_command_has_no_control_characters_of_a_name() -> None:
    assert "\x1b" not in commands.of_runs("cancel", "data", ["a\x1b[2J\n"])

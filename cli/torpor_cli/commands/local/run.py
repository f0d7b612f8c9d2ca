"""`torpor run`. What runs a Workflow is imported when the command runs: it needs the extra `run`."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torpor_cli import errors, output
from torpor_cli.authoring import compiled
from torpor_cli.changes import manifest
from torpor_cli.errors import ExitCode
from torpor_cli.options import param_options
from torpor_cli.output import Format, output_option

if TYPE_CHECKING:
    from torpor_local.options import GivenAnswer

    from torpor_cli.local_run.play import Play
    from torpor_cli.local_run.workflow_file import WorkflowFile

_LIMITS = (
    "a local run has no resource limits, evictions, ServiceAccounts or other users; "
    "`torpor run --help` lists what differs"
)


@click.command("run")
@click.argument("file", metavar="[FILE|-|MODULE:WORKFLOW]", required=False, type=click.Path(allow_dash=True))
@param_options
@click.option(
    "--python", metavar="PATH", help="Python, or virtual environment, of the tasks; by default the active one."
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Maximum number of concurrent tasks; by default the number of processors.",
)
@click.option(
    "--event",
    "events",
    metavar="[TASK=]JSON",
    multiple=True,
    help="Event that answers the trigger of a task, instead of waiting for it. Repeatable.",
)
@click.option(
    "--answer",
    "answers",
    metavar="TASK=ANSWER",
    multiple=True,
    help="Answer to an approval: approved, rejected, or JSON of approved, fields, options and note. Repeatable.",
)
@click.option(
    "--skip-time",
    is_flag=True,
    help="Let waits for a time and delays of retries end at once, even of tasks that call real servers.",
)
@click.option(
    "--trigger",
    "triggers",
    metavar="NAME=MODULE:CLASS",
    multiple=True,
    help="Your own trigger class, which this command imports, for example from the working directory. Repeatable.",
)
@click.option("--folder", metavar="PATH", help="Folder of logs and history; by default a new one in .torpor/runs.")
@click.option("--resume", metavar="FOLDER", help="Continue a run whose process was killed.")
@click.option("--show", metavar="FOLDER", help="Show a run again: tree, timeline and results.")
@click.option("--page", is_flag=True, help="With --show: open the run in the page, in a browser, instead.")
@click.option("--no-browser", is_flag=True, help="With --page: print the link, and do not open it.")
@click.option("--task", metavar="TASK[/INDEX]", help="Run only this task, in the foreground, for a debugger.")
@click.option("--args", "arguments", metavar="JSON", help="Arguments of --task that the file does not have.")
@output_option(Format.WIDE, Format.JSON, Format.YAML)
def run_command(
    file: str | None,
    pairs: tuple[str, ...],
    params_file: str | None,
    python: str | None,
    jobs: int | None,
    events: tuple[str, ...],
    answers: tuple[str, ...],
    skip_time: bool,
    triggers: tuple[str, ...],
    folder: str | None,
    resume: str | None,
    show: str | None,
    page: bool,
    no_browser: bool,
    task: str | None,
    arguments: str | None,
    output_format: str,
) -> int:
    """Run a Workflow, or one of its tasks, on this machine, without a cluster.

    Python tasks run as processes of --python, container tasks by docker or podman, triggers in this process. The first
    Ctrl-C cancels the run, the second one kills it.

    A local run has no images of Python tasks, resource requests and limits, node selection, volumes, evictions,
    ServiceAccounts, admission policies, other users and namespaces, Schedules and Backfills. Variables from Secrets
    have the values of the environment. ConfigMaps and WorkflowTemplates are those of FILE. The command names the fields
    of FILE that it ignores.

    Exit codes: 0 succeeded, 1 the command failed, 2 usage, 3 the run failed, 4 cancelled, 130 killed.
    """
    _check(file, {"--resume": resume, "--show": show}, task, arguments)
    if answers and (task is not None or show is not None):
        raise errors.UsageError("--answer is for a run; a wait of --task is answered with --event")
    if page and show is None:
        raise errors.UsageError("--page is for --show FOLDER")
    if show is not None:
        return _open_page(show, open_browser=not no_browser) if page else _show(show, output_format)
    settings = _settings(python, jobs, triggers, output_format, skip_time=skip_time)
    if resume is not None:
        return _resume(resume, events, answers, settings)
    workflow = _read(file or "", pairs, manifest.params(params_file), settings)
    if workflow is None:
        return ExitCode.FAILED
    if task is not None:
        return _run_task(workflow, task, arguments, events, settings.python)
    return _play(workflow, folder, events, answers, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaySettings:
    """How a run is played."""

    python: str
    jobs: int
    skip_time: bool
    triggers: Mapping[str, str]
    output_format: str

    def play(
        self,
        folder: Path,
        documents: list[dict[str, Any]],
        events: dict[str, Any],
        answers: "Mapping[str, GivenAnswer]",
    ) -> "Play":
        """Return a run with these settings."""
        from torpor_cli.local_run.play import Play  # noqa: PLC0415

        return Play(
            documents=documents,
            folder=folder,
            python=self.python,
            jobs=self.jobs,
            events=events,
            answers=answers,
            skip_time=self.skip_time,
            triggers=self.triggers,
            output_format=self.output_format,
        )


def _check(file: str | None, others: dict[str, str | None], task: str | None, arguments: str | None) -> None:
    """Raise UsageError for options that exclude each other. `others` are those that need no file."""
    named = [option for option, value in others.items() if value is not None]
    if (file is not None) + len(named) != 1:
        raise errors.UsageError("write one of FILE, --resume FOLDER and --show FOLDER; see `torpor run --help`")
    if task is not None and file is None:
        raise errors.UsageError(f"--task needs FILE, not {named[0]}")
    if arguments is not None and task is None:
        raise errors.UsageError("--args is for --task; write values of params with -p NAME=VALUE")


def _open_page(folder: str, *, open_browser: bool) -> int:
    from torpor_cli.commands.local import page  # noqa: PLC0415 - it needs the extra, too

    return page.open_page(Path(folder), open_browser=open_browser)


def _show(folder: str, output_format: str) -> int:
    from torpor_cli.commands.local import show  # noqa: PLC0415 - other runs draw no timeline

    return show.show(folder, output_format)


def _settings(
    python: str | None, jobs: int | None, triggers: tuple[str, ...], output_format: str, *, skip_time: bool
) -> PlaySettings:
    """Return how a run is played, as the options and this machine say. Raises UsageError."""
    from torpor_cli.authoring import interpreter  # noqa: PLC0415 - subprocess costs 10 ms, `torpor run --help` needs none

    return PlaySettings(
        python=interpreter.choose(python),
        jobs=jobs or os.cpu_count() or 1,
        skip_time=skip_time,
        triggers=_own_triggers(triggers),
        output_format=output_format,
    )


def _own_triggers(options: tuple[str, ...]) -> Mapping[str, str]:
    """Return the classes of `--trigger`, importable also from the working directory. Raises UsageError."""
    if not options:
        return {}
    from torpor_cli.linting import triggers  # noqa: PLC0415 - needs pydantic

    try:
        entries = triggers.entries(options)
    except triggers.UnusableTriggerError as error:
        raise errors.UsageError(str(error)) from error
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` does
    return entries


def _read(name: str, pairs: tuple[str, ...], values: dict[str, Any], settings: PlaySettings) -> "WorkflowFile | None":
    """Read a file, or build the Workflow of a function. None if it has errors, which are then printed."""
    from torpor_cli.local_run import workflow_file  # noqa: PLC0415 - needs pydantic

    if compiled.is_reference(name):
        body = compiled.compile_workflow(name, python=settings.python, pairs=pairs, values=values)
        invalid, _ = compiled.findings(body)
        for line in invalid:
            output.note(f"{name}: error: {line}")
        return None if invalid else workflow_file.WorkflowFile(name=name, workflow=body).as_stored()
    file = workflow_file.read(name, settings.triggers)
    if isinstance(file, workflow_file.InvalidFile):
        for line in file.lines:
            output.line(line)
        output.note(file.summary)
        return None
    return file.with_params(pairs, values)


def _run_task(file: "WorkflowFile", task: str, arguments: str | None, events: tuple[str, ...], python: str) -> int:
    from torpor_cli.local_run import one_task  # noqa: PLC0415

    return one_task.run(one_task.request(file, task, arguments, events), python, file)


def _play(
    file: "WorkflowFile",
    chosen: str | None,
    events: tuple[str, ...],
    answers: tuple[str, ...],
    settings: PlaySettings,
) -> int:
    """Check what the Workflow needs, and play it."""
    from torpor_cli.local_run import folders, given, play, preflight  # noqa: PLC0415

    play.check_installed()
    payloads, answered = given.parse_events(events, file.tasks()), given.parse_answers(answers, file.tasks())
    folders.check_folder(chosen)
    checked = preflight.of_file(file, payloads, settings.triggers, answered)
    if checked.refused:
        for sentence in checked.refused:
            output.fail(f"{file.name}: {sentence}")
        return ExitCode.FAILED
    output.note(_LIMITS)
    if checked.ignored:
        output.note(f"a local run ignores: {'; '.join(checked.ignored)}")
    workflow = folders.named(file.workflow)
    folder = folders.create(workflow["metadata"]["name"], chosen)
    return play.play(settings.play(folder, preflight.documents(workflow, file.others), payloads, answered))


def _resume(folder: str, events: tuple[str, ...], answers: tuple[str, ...], settings: PlaySettings) -> int:
    """Go on with the run of a folder."""
    from torpor_cli.local_run import given, play  # noqa: PLC0415

    if not Path(folder).is_dir():
        raise errors.UsageError(f"--resume {folder}: there is no such folder")
    payloads, answered = given.parse_events(events, None), given.parse_answers(answers, None)
    return play.play(replace(settings.play(Path(folder), [], payloads, answered), resume=True))

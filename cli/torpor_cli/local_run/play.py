"""Plays a Workflow on this machine, shows it, and reads the run that a folder has.

`torpor_local` is the extra `run` of this command. The tasks of a run are process groups of their own: without
`Interruption` they would go on after a signal.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torpor_client.runs import run_state
from torpor_views import notifications
from torpor_views.model import RunView

from torpor_cli import errors, output
from torpor_cli.errors import ExitCode
from torpor_cli.local_run import report
from torpor_cli.local_run.report import ProgressView
from torpor_cli.output import Format
from torpor_cli.runs import exit_codes

if TYPE_CHECKING:
    from torpor_local.journal import SavedRun
    from torpor_local.options import GivenAnswer

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """The first interruption cancels a run as `torpor cancel` does. A second one ends it at once."""

    def __init__(self, playing: "asyncio.Future[Any]") -> None:
        self._playing = playing
        self._interrupted = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Handle signals of the process inside the block, but for those that its caller ignores, such as nohup."""
        loop = asyncio.get_running_loop()
        handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in handled:
            loop.add_signal_handler(number, self._receive, number)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def lose_output(self) -> None:
        """Cancel the run, because its output cannot be written. This counts as the first interruption."""
        self._cancel("the output cannot be written: the run is cancelled; press Ctrl-C to end it at once")

    def _receive(self, number: signal.Signals) -> None:
        if not self._interrupted:
            self._cancel("interrupted: the run is cancelled; press Ctrl-C again to end it at once")
        elif number is not signal.SIGHUP:  # the kernel and the shell both send it when a terminal is closed
            self._playing.cancel()

    def _cancel(self, message: str) -> None:
        if not self._interrupted and not self._playing.done():
            self._interrupted = True
            self._playing.cancel()
            note(message)


def note(message: str) -> None:
    """Print a remark on standard error, unless its terminal was closed."""
    try:
        output.note(message)
    except OSError:
        for stream in (sys.stdout, sys.stderr):
            output.discard(stream)


_NOT_INSTALLED = (
    "torpor run needs the extra `run`, which is not installed ({0} is missing); install it with "
    "`uv tool install 'kubectl-torpor[run]'` or `pip install 'kubectl-torpor[run]'`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A run to play: what the command line and the file say."""

    documents: Sequence[Mapping[str, Any]]
    folder: Path
    python: str
    jobs: int
    events: Mapping[str, Any] = field(default_factory=dict)
    answers: "Mapping[str, GivenAnswer]" = field(default_factory=dict)
    skip_time: bool = False
    triggers: Mapping[str, str] = field(default_factory=dict)
    resume: bool = False
    output_format: str = str(Format.TEXT)

    @property
    def is_text(self) -> bool:
        """Whether the run is shown while it runs."""
        return self.output_format in {Format.TEXT, Format.WIDE}

    def options(self) -> Any:
        """Return the options of the engine."""
        from torpor_local.options import Options  # noqa: PLC0415 - an extra of this package

        return Options(
            folder=self.folder,
            python=self.python,
            jobs=self.jobs,
            events=self.events,
            answers=self.answers,
            skip_time=self.skip_time,
            triggers=self.triggers,
            resume=self.resume,
        )


def check_installed() -> None:
    """Raise CliError with the command that installs what plays a run, if it is missing."""
    try:
        import torpor_local.engine  # noqa: PLC0415 - an extra of this package
    except ImportError as error:
        raise errors.CliError(_NOT_INSTALLED.format(error.name)) from error
    del torpor_local


def play(run: Play) -> int:
    """Play a run to its end and print its outcome. Return the exit code of `torpor wait`. Raises CliError."""
    check_installed()
    from torpor_local import engine, options  # noqa: PLC0415 - an extra of this package

    progress = ProgressView(quiet=not run.is_text, wide=run.output_format == Format.WIDE)
    try:
        outcome = asyncio.run(_played(engine, run, progress))
    except options.LocalRunError as error:
        raise errors.CliError(str(error)) from error
    except asyncio.CancelledError:
        note(f"ended at once; `torpor run --resume {run.folder}` continues it")
        return ExitCode.INTERRUPTED
    progress.end()
    try:
        _report(run, outcome)
        output.flush()
    except OSError:  # its reader or its terminal has gone; the run has an outcome nevertheless
        output.discard(sys.stdout)
    return exit_codes.of_runs([run_state.word_of(outcome.workflow)])


async def _played(engine: Any, run: Play, progress: ProgressView) -> Any:
    """Play the run until it ends or is interrupted."""
    playing = asyncio.ensure_future(engine.play(run.documents, run.options(), progress))
    stopping = Interruption(playing)
    progress.on_lost = stopping.lose_output
    with stopping.signals():
        ticking = asyncio.ensure_future(progress.tick())
        try:
            return await playing
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking


def _report(run: Play, outcome: Any) -> None:
    view = RunView.parse(outcome.workflow, outcome.objects.get("TaskRun", ()), now=time.time())
    if not run.is_text:
        output.data(report.as_json(outcome.workflow, outcome.results, view, run.folder), run.output_format)
        return
    for line in report.failure_lines(view, run.folder):
        output.line(line)
    for line in notifications.message_lines(outcome.objects.get("TaskRun", ())):
        output.line(line)
    for line in outcome.metrics:
        output.line(f"metric {line}")
    for line in report.result_lines(outcome.workflow, outcome.results):
        output.line(line)
    output.note(f"logs are in {run.folder / report.LOGS}; `torpor run --show {run.folder}` shows the run again")


Object = dict[str, Any]
_JOURNAL = "state.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A Workflow with its TaskRuns and the results by task. `now` is when the folder was last written."""

    workflow: Object
    taskruns: Sequence[Object]
    results: Mapping[str, Any]
    now: float

    def parse(self) -> RunView:
        """Return the run for the views."""
        return RunView.parse(self.workflow, self.taskruns, now=self.now)


def saved_run(folder: Path) -> "SavedRun":
    """The objects of the run of a folder. Raises UsageError if there is none."""
    check_installed()
    from torpor_local import journal  # noqa: PLC0415 - an extra of this package

    saved = journal.read(folder / _JOURNAL)
    if saved is None or not saved.of_kind("Workflow"):
        raise errors.UsageError(f"{folder} has no run; the folders of runs are in .torpor/runs")
    return saved


def read_run(folder: Path) -> StoredRun:
    """Read the run of a folder. Raises UsageError if there is none."""
    saved = saved_run(folder)
    from torpor_local import folder as folders  # noqa: PLC0415 - an extra of this package
    from torpor_local import outcome  # noqa: PLC0415

    path = folder / _JOURNAL
    workflows = saved.of_kind("Workflow")
    workflow = next(
        item for item in workflows if saved.workflow is None or item["metadata"]["name"] == saved.workflow[1]
    )
    taskruns = saved.of_kind("TaskRun")
    ended = outcome.build(workflow, {"TaskRun": taskruns})
    built = asyncio.run(outcome.with_archived(ended, folders.archive_file(folder)))
    return StoredRun(
        workflow=workflow, taskruns=taskruns, results=built.results, now=path.stat().st_mtime + saved.offset
    )

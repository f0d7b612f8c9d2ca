"""Plays a Workflow on this machine, and shows it. `torpor_local` is the extra `run` of this command."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_views.model import RunView

from torpor_cli import errors, exit_codes, output, run_state
from torpor_cli.local_run import interruption, report
from torpor_cli.local_run.interruption import Interruption
from torpor_cli.local_run.progress import ProgressView
from torpor_cli.output import Format

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
    skip_time: bool = False
    triggers: Mapping[str, str] = field(default_factory=dict)
    resume: bool = False
    output_format: str = str(Format.TEXT)

    @property
    def is_text(self) -> bool:
        """Whether the run is shown while it runs."""
        return self.output_format in {Format.TEXT, Format.WIDE}


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
        outcome = asyncio.run(_played(engine, options, run, progress))
    except options.LocalRunError as error:
        raise errors.CliError(str(error)) from error
    except asyncio.CancelledError:
        interruption.note(f"ended at once; `torpor run --resume {run.folder}` goes on with it")
        return exit_codes.INTERRUPTED
    progress.end()
    try:
        _report(run, outcome)
        output.flush()
    except OSError:  # its reader or its terminal has gone; the run has an outcome nevertheless
        output.discard(sys.stdout)
    return run_state.exit_code([run_state.word_of(outcome.workflow)])


async def _played(engine: Any, options: Any, run: Play, progress: ProgressView) -> Any:
    """Play the run until it ends or is interrupted."""
    chosen = options.Options(
        folder=run.folder,
        python=run.python,
        jobs=run.jobs,
        events=run.events,
        skip_time=run.skip_time,
        triggers=run.triggers,
        resume=run.resume,
    )
    playing = asyncio.ensure_future(engine.play(run.documents, chosen, progress))
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
    found = RunView.parse(outcome.workflow, outcome.objects.get("TaskRun", ()), now=time.time())
    if not run.is_text:
        output.data(report.as_json(outcome.workflow, outcome.results, found, run.folder), run.output_format)
        return
    for line in report.failure_lines(found, run.folder):
        output.line(line)
    for line in report.result_lines(outcome.workflow["spec"], outcome.results):
        output.line(line)
    output.note(f"logs are in {run.folder / report.LOGS}; `torpor run --show {run.folder}` shows the run again")

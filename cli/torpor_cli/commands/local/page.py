"""`torpor run --show FOLDER --page`: the page of a local run, served on this machine until Ctrl-C."""

import asyncio
from contextlib import suppress
from pathlib import Path

from torpor_cli import errors, output
from torpor_cli.local_run import play, report


def open_page(folder: Path, *, open_browser: bool) -> int:
    """Serve the page of the run of a folder. Return the exit code."""
    saved = play.saved_run(folder)
    try:
        from torpor_local import stored_run  # noqa: PLC0415 - an extra of this package
        from torpor_ui import local  # noqa: PLC0415
    except ImportError as error:
        raise errors.CliError(
            f"--page needs the package {error.name}; install the extras: pip install 'kubectl-torpor[run,ui]'"
        ) from error
    namespace, _ = saved.workflow or ("default", "")
    options = local.LocalOptions(namespace=namespace, read_only=True, open_browser=open_browser)
    serving = local.serve_transport(stored_run.StoredRunTransport(folder / report.LOGS, saved), options, _announce)
    with suppress(KeyboardInterrupt):
        asyncio.run(serving)
    return 0


def _announce(link: str) -> None:
    output.line(f"{link}\nThe link works once. Ctrl-C ends the page.")
    output.flush()

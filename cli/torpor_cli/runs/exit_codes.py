"""The exit code that the states of runs mean. Pure."""

from collections.abc import Iterable

from torpor_client.runs.run_state import RunWord

from torpor_cli.errors import ExitCode

_CODES: dict[str, int] = {
    RunWord.SUCCEEDED: ExitCode.SUCCEEDED,
    RunWord.FAILED: ExitCode.RUN_FAILED,
    RunWord.CANCELLED: ExitCode.RUN_CANCELLED,
}


def of_runs(words: Iterable[str]) -> int:
    """Return the exit code of runs that have ended: that of the worst."""
    codes = {_CODES.get(word, ExitCode.FAILED) for word in words}
    order = (ExitCode.FAILED, ExitCode.RUN_FAILED, ExitCode.RUN_CANCELLED)
    return next((code for code in order if code in codes), ExitCode.SUCCEEDED)

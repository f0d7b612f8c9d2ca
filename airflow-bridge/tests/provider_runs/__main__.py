"""Runs the rows of all families, or of those that are arguments, and writes the page of the providers."""

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from provider_runs import page
from provider_runs.row import RowOutcome
from provider_runs.servers.certificate import LoopbackCertificate


def main() -> int:
    """Print a line for each row. The exit code is 1 if one is not right."""
    parser = argparse.ArgumentParser(prog="provider_runs", description=__doc__)
    parser.add_argument("families", nargs="*", help="only these families, such as amazon or amazon/emr")
    parser.add_argument("--only", default="", help="only rows whose key contains this text")
    parser.add_argument("--into", type=Path, help="the page to write")
    parser.add_argument("--keep", type=Path, help="a file for rows that are right, so that the next run goes on")
    parsed = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        certificate = LoopbackCertificate(folder)
        os.environ.update(certificate.variables)  # aiohttp reads them when it is imported
        from provider_runs import suite  # noqa: PLC0415

        outcomes: list[RowOutcome] = []
        begun = time.monotonic()
        for outcome in suite.run(parsed.families, parsed.only, parsed.keep, stack, folder, certificate):
            outcomes.append(outcome)
            _print(f"{time.monotonic() - begun:5.0f} s  {_line(outcome)}")
        _print(_summary(outcomes))
        if parsed.into is not None:
            parsed.into.write_text(suite.page_of(outcomes))
    return int(not all(each.is_right for each in outcomes))


def _line(outcome: RowOutcome) -> str:
    waited = ", ".join(path.rpartition(".")[2] for path in outcome.triggers)
    return f"{outcome.key}  {outcome.problem or f'right, {outcome.state}; {waited}'}"


def _summary(outcomes: list[RowOutcome]) -> str:
    right = [each for each in outcomes if each.is_right]
    operators = {each.class_path for each in right if not each.is_trigger}
    triggers = page.run_classes(right).keys() - operators
    return (
        f"{len(right)} of {len(outcomes)} rows are right: {len(operators)} operators, {len(triggers)} trigger classes"
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""What every benchmark does around its measurements: options, attempts, and the report."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import ClientError
from torpor_demo.cluster import ROOT
from torpor_dev.console import say
from torpor_kubernetes.client.errors import ApiError
from torpor_wire import times

from benchmarks.harness.figures import Figure, rounded, table

Taken = TypeVar("Taken")
_FAILURES = (SystemExit, OSError, ExceptionGroup, ApiError, ClientError)


def parser(doc: str | None, bench: str = "", sizes: type[Any] | None = None) -> argparse.ArgumentParser:
    """The options of all benchmarks, and one for each field of the dataclass `sizes`.

    `bench`: the committed JSON that a run replaces by default.
    """
    arguments = argparse.ArgumentParser(description=doc)
    file = ROOT / f"docs/design/figures/{bench}.json" if bench else None
    arguments.add_argument("--into", type=Path, default=file, help="file for the JSON")
    arguments.add_argument("--compare", type=Path, help="JSON of another run, whose figures get a column")
    for field in fields(sizes) if sizes else ():
        arguments.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    return arguments


def chosen_sizes(given: argparse.Namespace, sizes: type[Taken]) -> Taken:
    """The options that `parser` added for the fields of `sizes`."""
    return sizes(**{field.name: getattr(given, field.name) for field in fields(sizes)})  # type: ignore[arg-type]


async def attempt(name: str, measuring: Awaitable[Taken], shown: Callable[[Taken], str]) -> Taken | None:
    """What was measured, printed as progress; None after a failure, which is printed as well."""
    began = time.monotonic()
    try:
        taken = await measuring
    except _FAILURES as error:
        say(f"{name} has failed: {''.join(traceback.format_exception(error))}")
        return None
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    say(f"{name}, {time.monotonic() - began:.0f} s, load {load}: {shown(taken)}")
    return taken


def attempt_alone(name: str, measuring: Coroutine[Any, Any, Taken], shown: Callable[[Taken], str]) -> Taken | None:
    """The same in an event loop of its own."""
    trying = attempt(name, measuring, shown)
    return asyncio.run(trying)


def shown_figures(figures: Sequence[Figure]) -> str:
    """Figures as progress."""
    return f"\n{table(figures)}"


def report(
    given: argparse.Namespace,
    bench: str,
    figures: Sequence[Figure],
    *,
    column: tuple[str, Mapping[str, str]] = ("", {}),
    **body: Any,
) -> None:
    """Print the table, and write the JSON: to `--into`, or as the last line.

    `column`: head and texts, by the names of the figures, to show beside.
    """
    beside = _other_run(given.compare) if given.compare else column
    sys.stdout.write(table(figures, *beside))
    write(given.into, bench, **body, figures=[asdict(figure) for figure in figures])


def write(into: Path | None, bench: str, **body: Any) -> None:
    """Write the JSON of a run, or print it as one line."""
    whole = {"bench": bench, "commit": commit(), "taken": times.rfc3339(time.time()), **body}
    if into is None:
        print(json.dumps(whole))
    else:
        into.write_text(json.dumps(whole, indent=1) + "\n")


def commit() -> str:
    """The revision of the working tree."""
    words = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def _other_run(file: Path) -> tuple[str, Mapping[str, str]]:
    body = json.loads(file.read_text())
    return body["commit"], {
        figure["name"]: f"{rounded(figure['value'])} {figure['unit']}" for figure in body["figures"]
    }

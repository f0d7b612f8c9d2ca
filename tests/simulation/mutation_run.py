"""Removes one guard at a time and finds the first seed that detects it: `python -m tests.simulation.mutation_run`."""
# ruff: noqa: T201 - a command

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from tests.simulation.mutants import MUTANTS, Mutant, switch
from tests.simulation.pool import first_violation, play_seeds

LIMIT = 2000
"""The seeds to try for each guard: as many as the tests run."""
BUG = "I7"
"""A bug ended a process: a mutant that raises does not fit the code, and shows nothing about its guard."""
_SHOWN = 160


def find(mutant: Mutant, *, limit: int, jobs: int) -> dict[str, Any]:
    """Find the first seed that detects the mutant, and the violated invariant."""
    result = first_violation(
        play_seeds(range(mutant.first_seed, mutant.first_seed + limit), jobs=jobs, prepare=partial(switch, mutant.name))
    )
    violation = result.violation if result else None
    return {
        "guard": mutant.name,
        "without": mutant.without,
        "seed": result.seed if result else None,
        "invariant": violation.invariant if violation else None,
        "what": violation.what if violation else None,
    }


def report() -> int:
    """Run all mutants. Returns 1 if one is not detected, or raises."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutation_run", description=__doc__)
    parser.add_argument("--only", action="append", help="run this guard only; repeatable")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seeds to try")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", default="", help="file for the JSON; default: print it after the table")
    options = parser.parse_args()
    rows = []
    print("| guard | without it | seed | invariant | violation |\n|---|---|---:|---|---|")
    for mutant in MUTANTS:
        if mutant.name in (options.only or [mutant.name]):
            rows.append(find(mutant, limit=options.limit, jobs=options.jobs))
            print(_row(rows[-1]), flush=True)
    text = json.dumps(rows, indent=1)
    if options.json:
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 1 if any(row["invariant"] in {None, BUG} for row in rows) else 0


def _row(row: dict[str, Any]) -> str:
    """Format a row of the Markdown table."""
    seed = "**none**" if row["seed"] is None else row["seed"]
    what = " ".join((row["what"] or "").split())[:_SHOWN].replace("|", "/")
    return f"| {row['guard']} | {row['without']} | {seed} | {row['invariant'] or ''} | {what} |"


if __name__ == "__main__":
    sys.exit(report())

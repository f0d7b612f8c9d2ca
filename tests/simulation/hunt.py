"""Takes out one guard after the other and looks for a seed that notices: `python -m tests.simulation.hunt`."""
# ruff: noqa: T201 - a command

import argparse
import json
import sys
from functools import partial
from typing import Any

from tests.simulation.mutants import MUTANTS, Mutant, switch
from tests.simulation.pool import first_breach, played

LIMIT = 400
"""Seeds within which each is found, but for those that say why not."""
UNSEEN_LIMIT = 100


def find(mutant: Mutant, *, limit: int, jobs: int) -> dict[str, Any]:
    """The first seed that notices, and by which invariant."""
    found = first_breach(played(range(limit), jobs=jobs, prepare=partial(switch, mutant.name)))
    breach = found.breach if found else None
    return {
        "guard": mutant.name,
        "without": mutant.without,
        "unseen": mutant.unseen,
        "seed": found.seed if found else None,
        "invariant": breach.invariant if breach else None,
        "what": breach.what if breach else None,
    }


def report() -> int:
    """Try them all; 1 if one was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.hunt", description=__doc__)
    parser.add_argument("--only", help="one guard")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seeds to try")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", default="", help="where to write the table as JSON; else it is printed last")
    options = parser.parse_args()
    rows = []
    print(f"{'guard':22} {'seed':>5} {'breaks':6} what was seen")
    for mutant in MUTANTS:
        if options.only in {None, mutant.name}:
            limit = min(options.limit, UNSEEN_LIMIT) if mutant.unseen else options.limit
            rows.append(find(mutant, limit=limit, jobs=options.jobs))
            row = rows[-1]
            seed = "none" if row["seed"] is None else row["seed"]
            print(
                f"{mutant.name:22} {seed:>5} {row['invariant'] or '':6} {row['what'] or mutant.unseen}"[:180],
                flush=True,
            )
    text = json.dumps(rows, indent=1)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
    else:
        print(text)
    return 1 if any(row["seed"] is None and not row["unseen"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(report())

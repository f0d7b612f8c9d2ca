"""`python -m tests.simulation --seed N --trace`: replays a seed and prints what happens."""
# ruff: noqa: T201 - a command

import argparse
import os
import sys
import time

from tests.simulation import mutants
from tests.simulation.simulation import play


def main() -> int:
    """Play seeds until the first violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="number of seeds")
    parser.add_argument("--trace", action="store_true", help="print every request and every change")
    parser.add_argument("--without", default="", help="remove this guard of `tests.simulation.mutants`")
    parser.add_argument("--on", action="store_true", help="continue after a violation")
    parser.add_argument("--kinds", help="comma-separated kinds of faults instead of the seed's")
    options = parser.parse_args()
    kinds = None if options.kinds is None else frozenset(filter(None, options.kinds.split(",")))
    if options.without:
        mutants.switch(options.without)
    started, broken, spent = time.perf_counter(), 0, 0.0
    for seed in range(options.seed, options.seed + options.count):
        result = play(seed, print if options.trace else None, kinds)
        spent += result.seconds
        if (violation := result.violation) is not None:
            broken += 1
            print(f"seed {seed}: {violation.invariant}: {violation.what} [{', '.join(sorted(result.kinds))}]")
            if not options.on:
                break
    count = seed - options.seed + 1
    print(
        f"{count} seeds, {broken} broken, {time.perf_counter() - started:.1f} s, {spent / count:.3f} CPU seconds each"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The hash seed determines the order of sets of strings, so replaying requires a fixed one.
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})
    sys.exit(main())

"""`python -m tests.simulation --seed N --trace`: play one seed again, and say what happens in it."""
# ruff: noqa: T201 - a command

import argparse
import os
import sys
import time

from tests.simulation import mutants
from tests.simulation.world import play


def main() -> int:
    """Play seeds one after another; stops at the first breach."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many, from there on")
    parser.add_argument("--trace", action="store_true", help="print every request and every change")
    parser.add_argument("--without", default="", help="a guard to take out, as `tests.simulation.mutants` names it")
    parser.add_argument("--on", action="store_true", help="go on after a breach")
    options = parser.parse_args()
    if options.without:
        mutants.switch(options.without)
    started, broken = time.perf_counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        result = play(seed, print if options.trace else None)
        if result.breach is not None:
            broken += 1
            print(f"seed {seed}: {result.breach.invariant}: {result.breach.what} [{', '.join(sorted(result.kinds))}]")
            if not options.on:
                break
    print(f"{seed - options.seed + 1} seeds, {broken} broken, {time.perf_counter() - started:.1f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of strings are walked in an order that the hash seed decides: the same one, or no seed repeats.
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})
    sys.exit(main())

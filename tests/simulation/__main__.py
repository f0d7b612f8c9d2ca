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
    parser.add_argument("--kinds", help="kinds of trouble, with commas between, in place of the seed's own")
    options = parser.parse_args()
    kinds = None if options.kinds is None else frozenset(filter(None, options.kinds.split(",")))
    if options.without:
        mutants.switch(options.without)
    started, broken, spent = time.perf_counter(), 0, 0.0
    for seed in range(options.seed, options.seed + options.count):
        result = play(seed, print if options.trace else None, kinds)
        spent += result.seconds
        if result.breach is not None:
            broken += 1
            print(f"seed {seed}: {result.breach.invariant}: {result.breach.what} [{', '.join(sorted(result.kinds))}]")
            if not options.on:
                break
    count = seed - options.seed + 1
    print(
        f"{count} seeds, {broken} broken, {time.perf_counter() - started:.1f} s, {spent / count:.3f} s of a core each"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of strings are walked in an order that the hash seed decides: the same one, or no seed repeats.
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})
    sys.exit(main())

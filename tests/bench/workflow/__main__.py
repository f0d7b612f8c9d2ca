"""`python -m tests.bench.workflow`: how fast the operator starts pods, and what that costs."""

import argparse
import asyncio
import json
import sys
from dataclasses import asdict

from tests.bench.workflow import floor, graphs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+")
    given = parser.parse_args()
    for one in given.what:
        name, _, count = one.partition("=")
        n = int(count)
        made = {"floor": floor.floor, "fan": graphs.fan_out, "chain": graphs.chain, "many": graphs.many}[name](n)
        taken = asyncio.run(made)
        sys.stdout.write(json.dumps({**asdict(taken), "machine_ms": taken.each()}) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

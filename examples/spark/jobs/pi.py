"""The program of the example: estimates pi from random points. A Spark job would use a SparkSession for the same."""

import random
import sys


def main(samples: int) -> None:
    """Print the estimate. Raises ValueError without a sample."""
    if samples < 1:
        raise ValueError(f"{samples} samples: at least one is needed")
    points = random.Random(17)  # noqa: S311 - the same estimate in each run
    inside = sum(points.random() ** 2 + points.random() ** 2 <= 1 for _ in range(samples))
    print(f"Pi is roughly {4 * inside / samples:.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))

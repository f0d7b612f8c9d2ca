"""The tasks: plain functions, which need no cluster and no workflow."""

from torpor import task

SALES = {"north": ["ulm", "kiel"], "south": ["bonn"]}


@task
def list_regions(day: str) -> list[str]:
    """Return the regions that have sold something on a day."""
    return sorted(SALES) if day else []


@task
def list_files(day: str, region: str) -> list[str]:
    """Return the files of a region."""
    return [f"{day}/{region}/{city}.csv" for city in SALES[region]]


@task
def load(path: str, minimum: int) -> int:
    """Load a file. Return the number of its rows."""
    return max(len(path), minimum)


@task
def add(rows: list[int]) -> int:
    """Return the number of rows of a region."""
    return sum(rows)


@task
def report(day: str, totals: list[int]) -> dict[str, int]:
    """Return the number of rows of a day, and of its regions."""
    return {day: len(totals), "rows": sum(totals)}


@task
def raise_alarm(message: str) -> str:
    """Return what people should know of a failed run. A real task would send it."""
    return f"alarm: {message}"

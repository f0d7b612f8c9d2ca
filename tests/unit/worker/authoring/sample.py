"""Tasks for the tests of torpor.authoring."""

from torpor import BaseOperator, Context, defer, task
from torpor.triggers import Duration


@task
def list_files(day: str) -> list[str]:
    """Two files of a day."""
    return [f"{day}/a.csv", f"{day}/b.csv"]


@task
def load(path: str, minimum: int = 0) -> int:
    """The length of a path."""
    return max(len(path), minimum)


@task
def report(rows: list[int]) -> None:
    """Nothing."""


@task
async def fetch(city: str) -> str:
    """A city."""
    return city


@task
def begin() -> object:
    """Defers, and resumes in another task."""
    return defer(Duration(60), then=collect, path="x")


@task
def collect(path: str, event: object = None) -> str:
    """The path."""
    return path


@task
def by_position(path: str, /) -> str:
    """A task that a pod cannot call."""
    return path


@task
def with_more(path: str, *more: str, **named: str) -> str:
    """A task with further arguments."""
    return path + "".join(more) + "".join(named)


@task
class Copy(BaseOperator):
    """An operator."""

    def __init__(self, source: str, target: str = "out") -> None:
        super().__init__()
        self.source = source
        self.target = target

    def execute(self, context: Context) -> str:
        """The source."""
        return self.source


def unmarked(path: str) -> str:
    """A function without @task."""
    return path


class Holder:
    """Has a marked method."""

    @task
    def method(self, path: str) -> str:
        """The path."""
        return path


nameless = task(lambda path: path)

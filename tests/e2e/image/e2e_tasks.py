"""Tasks of the e2e tests. They run in pods, from an image built FROM the worker image."""

import hashlib
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from torpor import (
    BaseOperator,
    BaseSensor,
    Context,
    Deferral,
    PokeResult,
    Results,
    TaskFailed,
    context,
    defer,
    files,
    task,
)
from torpor.triggers import Duration


@task
def write_tree() -> None:
    """Write the output `tree`: a folder with a link."""
    tree = files.output_path("tree")
    tree.mkdir()
    (tree / "a b").write_text("leaf")
    (tree / "link").symlink_to("a b")


@task
def read_tree() -> str:
    """Return what is behind the link in the input `tree`."""
    return (files.input_path("tree") / "link").read_text()


@task
def echo(value: Any = None) -> Any:
    return value


@task
def who(**_: Any) -> str:
    return str(context().uid)


@task
def collect(**given: Any) -> Any:
    return given


@task
def nap(seconds: float, **_: Any) -> float:
    time.sleep(seconds)
    return time.time()


@task
def first_stays(seconds: float) -> str:
    """The first pod takes its time; whichever comes after it is done at once."""
    here = socket.gethostname()
    if here.endswith("-a1-s0"):
        time.sleep(seconds)
    return here


@task
def wait(length: str, kept: Any = None, timeout: str | None = None) -> Deferral:
    return defer(Duration(length), then=tell, timeout=timeout, kept=kept, before=socket.gethostname())


def tell(event: Any, kept: Any, before: str) -> dict[str, Any]:
    now = context()
    return {
        "event": event,
        "kept": kept,
        "before": before,
        "here": socket.gethostname(),
        "attempt": now.attempt,
        "segment": now.segment,
    }


@task
class WaitTwice(BaseOperator):
    """Defers from below `execute`, then once more from the method it came back to."""

    def __init__(self, *, length: str) -> None:
        super().__init__()
        self.length = length

    def execute(self, context: Context) -> NoReturn:
        self._deeper(context)

    def _deeper(self, context: Context) -> NoReturn:
        self.defer(trigger=Duration(self.length), method_name="again", kwargs={"seen": [context.segment]})

    def again(self, context: Context, event: Any, seen: list[int]) -> NoReturn:
        kwargs = {"seen": [*seen, context.segment]}
        self.defer(trigger=Duration(self.length), method_name="finish", kwargs=kwargs)

    def finish(self, context: Context, event: Any, seen: list[int]) -> list[int]:
        return [*seen, context.segment]


@task
def flaky(good_from: int) -> int:
    attempt = context().attempt
    if attempt < good_from:
        raise RuntimeError(f"attempt {attempt} was not meant to work")
    return attempt


@task
def broken() -> NoReturn:
    raise ValueError("the day has no files")


@task
def hopeless() -> NoReturn:
    raise TaskFailed("the day does not exist")


@task
def not_json() -> object:
    return {"made", "of", "sets"}


@task
def needs(day: str) -> str:
    return day


class Written(NamedTuple):
    """A trigger as it is written down, whatever it may be."""

    name: str
    kwargs: Mapping[str, Any]

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        return self.name, self.kwargs


@task
def wait_for(name: str, kwargs: dict[str, Any]) -> Deferral:
    return defer(Written(name, kwargs), then=tell, kept=None, before="")


@task
def keep_too_much() -> Deferral:
    return defer(Duration("1s"), then=tell, kept="x" * 5_000, before="")


@task
def keep_not_json() -> Deferral:
    return defer(Duration("1s"), then=tell, kept=object(), before="")


@task
def wait_at_length(length: int) -> Deferral:
    return defer(Written("http", {"url": "x" * length}), then=tell, kept=None, before="")


@task
def wait_for_object() -> Deferral:
    return defer(Written("http", {"url": object()}), then=tell, kept=None, before="")


@task
def wait_sealed() -> Deferral:
    """Waits with a value that only this pod has found out."""
    digest = hashlib.sha256(str(context().uid).encode()).hexdigest()
    return defer(Written("measures", {"encrypted__word": digest}), then=tell, kept=None, before="")


class SecondLook(BaseSensor):
    """It is so at the second look, be that in the same pod or in the next one."""

    def __init__(self, **of_every_sensor: Any) -> None:
        super().__init__(**of_every_sensor)
        self.looks = 0

    def poke(self, context: Context) -> PokeResult:
        self.looks += 1
        done = context.segment + self.looks > 1
        return PokeResult(done, {"segment": context.segment, "looks": self.looks, "here": socket.gethostname()})


@task
def pieces(count: int, length: int) -> list[str]:
    """A list that does not fit on a TaskRun."""
    return [str(number) * length for number in range(count)]


@task
def measured(piece: str) -> int:
    return len(piece)


@task
def block(n: int, size: int) -> dict[str, object]:
    return {"n": n, "text": "x" * size}


@task
def reduced(pieces: Sequence[int], blocks: Sequence[dict[str, Any]]) -> dict[str, object]:
    """Both are read one by one."""
    return {"pieces": list(pieces), "blocks": [[block["n"], len(block["text"])] for block in blocks]}


def doubled(number: int) -> int:
    return 2 * number


@task
def paired(number: int, city: list[object]) -> list[object]:
    return [number, city]


@task
def total(rows: Sequence[object]) -> int:
    return len(rows)


@task
def placed(**several: Results) -> dict[str, object]:
    """Each result with its position."""
    return {name: list(zip(rows.positions, rows, strict=True)) for name, rows in several.items()}

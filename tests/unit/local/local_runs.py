"""Plays small workflows with real subprocesses, for the tests of the local engine."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torpor_local import engine
from torpor_local.options import LocalRunOutcome, Options

from tests.support.manifests import manifest

ROOT = Path(__file__).resolve().parents[3]
PLAY = """
import asyncio, sys
from pathlib import Path
from tests.unit.local.local_runs import play
asyncio.run(play(Path(sys.argv[1]), *eval(sys.argv[2])))
"""
TASKS = """
import os
import time
from torpor import defer


def add(a=0, b=0):
    print(f"adding {a} and {b}")
    return a + b


def folder():
    return os.getcwd()


def fail():
    raise ValueError("no such file")


def fail_once(marker):
    if not os.path.exists(marker):
        open(marker, "w").close()
        raise ValueError("the first time")
    return "at last"


class Trigger:
    def __init__(self, name, **kwargs):
        self.stored = name, kwargs

    def serialize(self):
        return self.stored


def wait_for(duration):
    from torpor.triggers import Duration

    return defer(Duration(duration), then=resumed)


def wait(trigger, kwargs, item=None):
    return defer(Trigger(trigger, **kwargs), then=resumed)


def resumed(event):
    return event


def append(path):
    with open(path, "a") as file:
        file.write("1")


def slow_at_first(path):
    if os.path.exists(path):
        return "again"
    with open(path + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)
    time.sleep(60)


def large(size):
    return ["x" * 100] * size


def large_text(size):
    return "é" * size


def large_object(size):
    return {f"key {number}": number for number in range(size)}


def large_bytes(size):
    return b"x" * size


def length(value):
    return len(value)


def debugged():
    breakpoint()
    return 1


def write_files():
    from torpor import files

    files.output_path("table").write_text("rows")
    tree = files.output_path("tree")
    tree.mkdir()
    (tree / "a b").write_text("leaf")
    (tree / "link").symlink_to("a b")


def read_files():
    from torpor import files

    tree = files.input_path("tree")
    texts = [files.input_path("table"), tree / "link", files.input_path("note"), files.input_path("settings")]
    return [path.read_text() for path in texts]


def vanish():
    os._exit(3)


def sleep(seconds):
    time.sleep(seconds)
    return seconds
"""


class Changes:
    """Records the states of TaskRuns in the order of their changes."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []

    def changed(self, kind: str, body: Mapping[str, Any]) -> None:
        if kind == "TaskRun":
            self.states.append((body["spec"]["task"], body["status"]["state"]))

    def states_of(self, task: str) -> list[str]:
        texts: list[str] = []
        for name, state in self.states:
            if name == task and texts[-1:] != [state]:
                texts.append(state)
        return texts


def workflow(*tasks: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", {"image": "any:1", "tasks": list(tasks), **spec})


def options(folder: Path, **chosen: Any) -> Options:
    """The options of a run in a folder, with the module `local_tasks` for its tasks."""
    folder.mkdir(exist_ok=True)
    (folder / "local_tasks.py").write_text(TASKS)
    return Options(folder=folder / "run", python=sys.executable, working_directory=folder, **chosen)


async def play(folder: Path, *tasks: Mapping[str, Any], seen: Changes | None = None, **chosen: Any) -> LocalRunOutcome:
    documents: Sequence[Mapping[str, Any]] = [workflow(*tasks)]
    return await engine.play(documents, options(folder, **chosen), seen or Changes())


async def created(path: Path) -> None:
    """Wait until another process has created a file."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - it sends no other sign
        await asyncio.sleep(0.02)


async def killed_when(path: Path, folder: Path, *tasks: object) -> None:
    """Play a run in another process, and kill it as soon as a file exists."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", PLAY, str(folder), repr(tasks), cwd=ROOT)
    await created(path)
    process.kill()
    await process.wait()

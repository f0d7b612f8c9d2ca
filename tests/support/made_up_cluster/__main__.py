"""Serves a made-up cluster until Ctrl-C: `python -m tests.support.made_up_cluster --runs 10000 --instances 10000`."""

import argparse
import asyncio
import json
import random
import sys
from contextlib import suppress
from pathlib import Path

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import times

from tests.support.made_up_cluster.api import MadeUpApi, serve
from tests.support.made_up_cluster.content import Size, fill
from tests.support.made_up_cluster.users import ADMIN, User, kubeconfig


async def main(given: argparse.Namespace) -> None:
    """Fill and serve, and change instances at a rate."""
    users = {"admin-token": ADMIN, "ann-token": User(name="ann", reads={"data"})}
    users |= {f"viewer-{number}": User(name=f"viewer-{number}", reads={"*"}) for number in range(given.viewers)}
    api = MadeUpApi(users=users)
    size = Size(runs=given.runs, instances=given.instances, taskruns=given.taskruns, archived=given.archived)
    fill(api, size)
    async with serve(api, given.port):
        content = json.dumps(kubeconfig(api.url, api.users, "data"))
        given.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        given.kubeconfig.write_text(content)
        print(f"{api.url} {given.kubeconfig}", flush=True)  # noqa: T201 - a program reads it
        await begun(given.begin)
        await change(api, given.changes, given.changing)


async def begun(file: Path | None) -> None:
    """Wait until a file exists."""
    while file is not None and not file.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(0.2)


async def change(api: MadeUpApi, rate: float, run: str) -> None:
    """Change so many TaskRuns of a run a second, or of all: those that run wait, and those that wait run."""
    names = [
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in api.server.all(TASKRUNS)
        if not run or item["spec"]["workflow"]["name"] == run
    ]
    while True:
        await asyncio.sleep(1.0 / rate if rate else 3600.0)
        namespace, name = random.choice(names)
        item = api.server.get(TASKRUNS, namespace, name)
        if item is None:
            continue
        state = "Running" if item["status"]["state"] == "Deferred" else "Deferred"
        entry = {"state": state, "at": times.rfc3339(api.clock.now()), "attempt": 1, "segment": 0}
        history = [*item["status"].get("history", []), entry][-30:]
        api.server.edit(TASKRUNS, namespace, name, {"status": {"state": state, "history": history}})
        if random.random() * 300 * rate < 1:  # about every five minutes, when the watches have seen all
            await asyncio.sleep(0.1)
            api.server.history.compact()


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--instances", type=int, default=500)
    options.add_argument("--taskruns", type=int, default=1000)
    options.add_argument("--archived", type=int, default=300)
    options.add_argument("--viewers", type=int, default=0, help="users viewer-0, viewer-1 and so on, by these tokens")
    options.add_argument("--changes", type=float, default=0.0, help="TaskRuns that change in a second")
    options.add_argument("--changing", default="", help="the run whose TaskRuns change; default: all")
    options.add_argument("--begin", type=Path, help="a file that begins the changes; default: they begin at once")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--kubeconfig", type=Path, default=Path("build/made-up/kubeconfig"))
    return options


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(parser().parse_args()))
    sys.exit(0)

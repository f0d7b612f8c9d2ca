"""Random workflows end alike in a local run, with real processes, and in the simulation without faults."""

import asyncio
import itertools
import json
import multiprocessing
import os
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from torpor_kubernetes.client.resources import CONFIG_MAPS, TASKRUNS, WORKFLOWS
from torpor_local import engine, outcome
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_local.options import Options

from tests.simulation.actors import controllers
from tests.simulation.actors.worker import silence_logs
from tests.simulation.process import Process
from tests.simulation.scenarios import random_workflows
from tests.simulation.simulation import BOUND, Simulation

ROOT = Path(__file__).resolve().parents[2]
TRIGGERS = {
    "odd": "tests.simulation.actors.controllers:ScriptedTrigger",
    "odd_many": "tests.simulation.actors.controllers:ScriptedBatchTrigger",
}
TIMED = ("hang", "brief", "timeout", "200", "wide", "container")
"""What depends on real durations or uids, and containers, which need docker."""
COUNTS = ("succeeded", "failed", "skipped", "upstreamFailed")


def playable(seed: int) -> Object | None:
    """The workflow of a seed, None if it has what a local run plays in real time or not at all."""
    body = random_workflows.workflow(random.Random(seed), f"run-{seed}")
    text = json.dumps(body["spec"]["tasks"])
    return None if any(word in text for word in TIMED) or "timeout" in body["spec"] else body


COUNT = int(os.environ.get("TORPOR_LOCAL_RUNS", "20"))
"""506 of the 2,000 workflows of the simulation can be played: TORPOR_LOCAL_RUNS=506 plays all of them."""
SEEDS = list(itertools.islice((seed for seed in range(2_000) if playable(seed) is not None), COUNT))


def ending(workflow: Object, taskruns: list[Object]) -> Any:
    """How a run ended, without times and names of pods."""
    runs = {(run["spec"]["task"], *_path(run)): _end(run["status"]) for run in taskruns}
    tasks = {
        task["name"]: {count: task[count] for count in COUNTS if task.get(count)}
        for task in workflow["status"].get("tasks") or ()
    }
    return workflow["status"]["state"], tasks, runs


def _path(run: Object) -> tuple[int, ...]:
    return (*(run["spec"].get("groupIndexes") or ()), run["spec"].get("mapIndex", -1))


def _end(status: Object) -> tuple[str, int, str]:
    return status["state"], status["attempt"], status.get("reason", "")


class Calm(Simulation):
    """A simulation without faults, with one workflow."""

    def __init__(self, body: Object) -> None:
        super().__init__(1, kinds=frozenset())
        self.faults.calm = True
        self.ended: Any = None
        self.server.observers.append(self._note_end)
        self.start("operator-0", partial(controllers.operator, simulated=self.archive))
        self.start("triggerer-0", partial(controllers.triggerer, receiver=self.receiver))
        random_workflows.make_room(self.fake, body)
        self.server.act(self.person, lambda: self.fake.objects.create(WORKFLOWS, random_workflows.NAMESPACE, body))

    def play(self) -> Any:
        """Return how the workflow ended."""
        while self.ended is None and self.loop.time() < BOUND:
            self._until(self.loop.time() + 1.0)
        return self.ended

    def _note_end(self, _: Process, entry: ObjectChange) -> None:
        if entry.address.kind == collection(WORKFLOWS) and entry.after and outcome.has_ended(entry.after):
            self.ended = self.ended or ending(entry.after, self.fake.all(TASKRUNS))


class Silent:
    """Observes nothing."""

    def changed(self, kind: str, body: Any) -> None:
        """Ignore it."""


async def local_ending(folder: Path, body: Object, pools: list[Object]) -> Any:
    text = json.dumps(body).replace("tests.simulation.actors.tasks:", "tests.simulation.actors.local_tasks:")
    options = Options(
        folder=folder, python=sys.executable, working_directory=ROOT, triggers=TRIGGERS, skip_time=True, jobs=8
    )
    documents = [{"kind": "ConfigMap", **pool} for pool in pools] + [{"kind": "Workflow", **json.loads(text)}]
    played = await engine.play(documents, options, Silent())
    return ending(played.workflow, list(played.objects["TaskRun"]))


def simulated(seed: int) -> Any:
    """Return how the workflow of a seed ends without faults, and the pools that it needs. Needs its own process."""
    silence_logs()
    controllers.few_shards()
    simulation = Calm(playable(seed) or {})
    try:
        return simulation.play(), simulation.fake.all(CONFIG_MAPS)
    finally:
        simulation.close()


@pytest.fixture(scope="module")
def endings() -> dict[int, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return dict(zip(SEEDS, pool.map(simulated, SEEDS), strict=True))


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS])
def test_a_workflow_ends_alike_in_a_local_run(tmp_path: Path, endings: dict[int, Any], seed: int) -> None:
    expected, pools = endings[seed]
    body = playable(seed)
    assert body is not None
    assert expected is not None
    assert asyncio.run(local_ending(tmp_path, body, pools)) == expected

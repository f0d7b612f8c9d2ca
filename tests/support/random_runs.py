"""Random runs: random graphs, tasks with random outcomes, and events in random order.

The outcome of a task depends on the seed, the attempt and the segment, never on the time. So two runs of one graph must
end alike, in whatever order their events come and wherever the operator crashes.
"""

import re
from collections.abc import Callable
from random import Random

from torpor_crds.models.taskrun import TaskRun
from torpor_operator.model.actions import Action, CreateTaskRun
from torpor_operator.model.pod import parse_pod, pod_name
from torpor_wire.state import State

from tests.support.builders import Body, container, python, wait
from tests.support.plan_fixture import PlanFixture

MOVES = 2_000
SEGMENTS, LAUNCHES = 3, 2
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")

Move = Callable[[], object]


def tasks(chance: Random, count: int) -> list[Body]:
    """Tasks that depend on earlier ones only: any acyclic graph."""
    return [_task(chance, number) for number in range(count)]


def _task(chance: Random, number: int) -> Body:
    before = [f"t{other}" for other in range(number) if chance.random() < 0.4]
    fields: Body = {"after": before, "retries": {"limit": chance.randint(0, 2), "delay": "10s"}}
    if chance.random() < 0.2:
        fields["rule"] = "all_done"
    if chance.random() < 0.1:
        fields["when"] = "false"
    if chance.random() < 0.2:
        return wait(f"t{number}", timeout=chance.choice(["60s", "1h"]), **fields)
    if chance.random() < 0.4:
        fields["expand"] = [{"name": "n", "over": list(range(chance.randint(0, 5)))}]
    return chance.choice([python, python, container])(f"t{number}", **fields)


class RandomRun:
    """One run of one graph. `seed` determines the outcomes of tasks, `order` the order of events."""

    def __init__(self, world: PlanFixture, seed: int, order: Random) -> None:
        self.world = world
        self._seed = seed
        self._order = order

    def run(self) -> PlanFixture:
        """Make one random possible move after the other until the run ends."""
        for _ in range(MOVES):
            self._operate()
            moves = self._moves()
            if moves:
                self._order.choice(moves)()
            elif self.world.settle().status.completion_time is not None:
                return self.world
            elif not self._moves():
                self._sleep()
        raise AssertionError("the run does not end")

    def _operate(self) -> None:
        """The operator plans and executes, and may crash in between."""
        planned = self.world.plan()
        actions = list(planned.actions)
        if self._order.random() < 0.5:
            self.world.apply(planned)
            return
        self._order.shuffle(actions)
        for action in in_order_of_index(actions)[: self._order.randint(0, len(actions))]:
            self.world.act(action)

    def _sleep(self) -> None:
        again_at = self.world.plan().again_at
        assert again_at is not None, "no move is possible, and no pass is scheduled"
        assert again_at > self.world.now
        self.world.now = again_at

    def _moves(self) -> list[Move]:
        """The possible next moves of worker, triggerer and kubelet."""
        moves: list[Move] = []
        for name in sorted(self.world.taskruns):
            run = self.world.by_name(name)
            at = run.spec.task, run.spec.map_index
            live = pod_name(run) in self.world.live_pods(*at)
            match run.status.state:
                case State.RUNNING if live and run.spec.container:
                    moves += self._container_moves(run)
                case State.SCHEDULED | State.RUNNING if live and not run.spec.container:
                    moves.append(self._pod_move(run))
                case State.DEFERRED if self._chance(run).random() < 0.9:
                    moves.append(self._deferral_move(run))
                case _:
                    pass
        return moves

    def _pod_move(self, run: TaskRun) -> Move:
        world, at = self.world, (run.spec.task, run.spec.map_index)
        chance = self._chance(run).random()
        if chance < 0.1 and run.status.launch < LAUNCHES:
            return lambda: world.write_pod(*at, {"phase": "Failed", "reason": "Evicted"})
        if run.status.state is State.SCHEDULED:
            return lambda: world.claim(*at)
        if chance < 0.2:
            return lambda: world.write_pod(*at, {"phase": "Failed"})
        if chance < 0.4:
            return lambda: world.report_failure(*at)
        if chance < 0.45:
            return lambda: world.report_skip(*at)
        if chance < 0.7 and run.status.segment < SEGMENTS:
            return lambda: world.report_deferral(*at, timeout=100)
        return lambda: world.report_success(*at)

    def _container_moves(self, run: TaskRun) -> list[Move]:
        """The kubelet reports how the program ended. It does not start a pod with a scheduling gate."""
        at = run.spec.task, run.spec.map_index
        if parse_pod(self.world.pods[pod_name(run)]).gated:
            return []
        chance = self._chance(run).random()
        if chance < 0.1 and run.status.launch < LAUNCHES:
            return [lambda: self.world.write_pod(*at, {"phase": "Failed", "reason": "Evicted"})]
        code = 1 if chance < 0.4 else 0
        state = {"terminated": {"exitCode": code, "message": "done"}}
        phase = "Failed" if code else "Succeeded"
        return [lambda: self.world.write_pod(*at, {"phase": phase, "containerStatuses": [{"state": state}]})]

    def _deferral_move(self, run: TaskRun) -> Move:
        world, at = self.world, (run.spec.task, run.spec.map_index)
        if self._chance(run).random() < 0.1:
            return lambda: world.report_skip(*at)
        return (lambda: world.report_end(*at)) if run.spec.trigger else (lambda: world.report_event(*at))

    def _chance(self, run: TaskRun) -> Random:
        spec, status = run.spec, run.status
        numbers = status.attempt, status.segment, status.launch
        return Random(f"{self._seed}/{spec.task}/{spec.map_index}/{numbers}/{status.state == State.DEFERRED}")


def in_order_of_index(actions: list[Action]) -> list[Action]:
    """The actions with creations in the order of their index, which a plan guarantees."""
    creations = iter(
        sorted(
            (it for it in actions if isinstance(it, CreateTaskRun)), key=lambda it: it.body["spec"].get("mapIndex", -1)
        )
    )
    return [next(creations) if isinstance(it, CreateTaskRun) else it for it in actions]


def ending(world: PlanFixture) -> object:
    """The outcome of a run without its times."""
    outcome = world.condition(), world.status.progress, [entry.to_json() for entry in world.status.tasks]
    return _TIME.sub("TIME", repr(outcome))

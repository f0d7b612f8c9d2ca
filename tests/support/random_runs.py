"""The course of a run: random graphs, tasks that behave by chance, and events in any order.

What a task does depends on the seed and on which attempt and segment it is, never on when it is asked: so two courses
of one graph must end alike, however their events interleave and wherever the operator was cut short.
"""

from collections.abc import Callable
from random import Random

from torpor_api.models.taskrun import TaskRun
from torpor_operator.model import pod
from torpor_operator.model.actions import Action, CreateTaskRun
from torpor_wire.state import State

from tests.support.builders import Body, container, python, wait
from tests.support.plan_world import World

MOVES = 2_000
SEGMENTS, LAUNCHES = 3, 2

Move = Callable[[], object]


def tasks(chance: Random, count: int) -> list[Body]:
    """Tasks that come only after earlier ones: any graph without a cycle."""
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
    """One course of one graph: `seed` says what the tasks do, `order` what happens when."""

    def __init__(self, world: World, seed: int, order: Random) -> None:
        self.world = world
        self._seed = seed
        self._order = order

    def run(self) -> World:
        """Let happen what can, one thing at a time, until the run is over."""
        for _ in range(MOVES):
            self._operate()
            moves = self._moves()
            if moves:
                self._order.choice(moves)()
            elif self.world.settle().status.completion_time is not None:
                return self.world
            elif not self._moves():
                self._sleep()
        raise AssertionError("the run does not come to an end")

    def _operate(self) -> None:
        """The operator plans and applies, as far as it comes before it is killed."""
        made = self.world.plan()
        actions = list(made.actions)
        if self._order.random() < 0.5:
            self.world.apply(made)
            return
        self._order.shuffle(actions)
        for action in in_order_of_index(actions)[: self._order.randint(0, len(actions))]:
            self.world.act(action)

    def _sleep(self) -> None:
        again_at = self.world.plan().again_at
        assert again_at is not None, "nothing can happen, and nobody will look again"
        assert again_at > self.world.now
        self.world.now = again_at

    def _moves(self) -> list[Move]:
        """What worker, triggerer and kubelet could do next."""
        found: list[Move] = []
        for name in sorted(self.world.taskruns):
            run = self.world.by_name(name)
            at = run.spec.task, run.spec.map_index
            live = pod.name_of(run) in self.world.live_pods(*at)
            match run.status.state:
                case State.RUNNING if live and run.spec.container:
                    found += self._of_container(run)
                case State.SCHEDULED | State.RUNNING if live and not run.spec.container:
                    found.append(self._of_pod(run))
                case State.DEFERRED if self._chance(run).random() < 0.9:
                    found.append(self._of_wait(run))
                case _:
                    pass
        return found

    def _of_pod(self, run: TaskRun) -> Move:
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

    def _of_container(self, run: TaskRun) -> list[Move]:
        """The kubelet says how the program ended; it says nothing of a pod that is still gated."""
        at = run.spec.task, run.spec.map_index
        if pod.parse(self.world.pods[pod.name_of(run)]).gated:
            return []
        chance = self._chance(run).random()
        if chance < 0.1 and run.status.launch < LAUNCHES:
            return [lambda: self.world.write_pod(*at, {"phase": "Failed", "reason": "Evicted"})]
        code = 1 if chance < 0.4 else 0
        state = {"terminated": {"exitCode": code, "message": "done"}}
        phase = "Failed" if code else "Succeeded"
        return [lambda: self.world.write_pod(*at, {"phase": phase, "containerStatuses": [{"state": state}]})]

    def _of_wait(self, run: TaskRun) -> Move:
        world, at = self.world, (run.spec.task, run.spec.map_index)
        if self._chance(run).random() < 0.1:
            return lambda: world.report_skip(*at)
        return (lambda: world.report_end(*at)) if run.spec.trigger else (lambda: world.report_event(*at))

    def _chance(self, run: TaskRun) -> Random:
        spec, status = run.spec, run.status
        numbers = status.attempt, status.segment, status.launch
        return Random(f"{self._seed}/{spec.task}/{spec.map_index}/{numbers}/{status.state == State.DEFERRED}")


def in_order_of_index(actions: list[Action]) -> list[Action]:
    """The actions, with creations in the order of the index, as the contract of a plan asks."""
    creations = iter(
        sorted(
            (it for it in actions if isinstance(it, CreateTaskRun)), key=lambda it: it.body["spec"].get("mapIndex", -1)
        )
    )
    return [next(creations) if isinstance(it, CreateTaskRun) else it for it in actions]


def ending(world: World) -> object:
    """How a run ended, without its times."""
    return world.condition(), world.status.progress, [entry.to_json() for entry in world.status.tasks]

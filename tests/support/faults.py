"""What a cluster does to a run beside what its tasks do: lags, deletes, terminates slowly, clears, cancels.

The end then hangs on the moment, so it is not compared; but there is one, and what must never be never is.
"""

from random import Random

from torpor_operator.model.pod import pod_name
from torpor_wire import constants
from torpor_wire.state import TERMINAL, State

from tests.support.plan_fixture import PlanFixture
from tests.support.random_runs import RandomRun

ROUNDS = 400


class RudeCourse(RandomRun):
    """A course with interruptions; after `ROUNDS` of them it goes on undisturbed to its end."""

    def __init__(self, world: PlanFixture, seed: int, order: Random) -> None:
        super().__init__(world, seed, order)
        world.api.graceful = True

    def run(self) -> PlanFixture:
        for _ in range(ROUNDS):
            self._operate()
            moves = [*self._moves(), self._lag, self._reap, self._time]
            if self._order.random() < 0.05:
                moves += [self._lose_taskrun, self._delete_pod]
            if self._order.random() < 0.02:
                moves.append(self._clear)
            if self._order.random() < 0.005:
                moves += [lambda: self.world.workflow["spec"].update(cancel=True), self.world.delete]
            self._order.choice(moves)()
            if self.world.status.completion_time is not None:
                break
        self._reap()
        self.world.api.graceful = False
        return super().run()

    def see_off(self) -> PlanFixture:
        """Let the graces of the last pods pass."""
        for _ in range(5):
            self.world.advance(100)
        return self.world

    def _lag(self) -> None:
        """The operator's store has not seen yet a pod that has claimed already."""
        running = [name for name in sorted(self.world.taskruns) if self._state(name) is State.RUNNING]
        if running:
            self.world.api.unseen.add(pod_name(self.world.by_name(self._order.choice(running))))
            self._operate()
            self.world.api.unseen.clear()

    def _reap(self) -> None:
        """What terminates has terminated."""
        for name in [name for name, body in self.world.pods.items() if "deletionTimestamp" in body["metadata"]]:
            self.world.api.terminate(name)
        self.world.api.collect()

    def _time(self) -> None:
        self.world.now += self._order.choice([0.1, 6.0, 70.0])

    def _lose_taskrun(self) -> None:
        open_runs = [name for name in sorted(self.world.taskruns) if self._state(name) not in TERMINAL]
        if open_runs:
            spec = self.world.by_name(self._order.choice(open_runs)).spec
            self.world.lose_taskrun(spec.task, spec.map_index)

    def _clear(self) -> None:
        """Somebody asks for a task, or what failed, to run again; now and then in the midst of such a wish."""
        names = [task.name for task in self.world.stored.spec.tasks]
        wish = self._order.choice([*names, "failed", f"{names[0]}/0"])
        self.world.workflow["metadata"]["annotations"] = {constants.CLEAR: wish}

    def _delete_pod(self) -> None:
        if self.world.pods:
            body = self.world.pods[self._order.choice(sorted(self.world.pods))]
            self.world.api.delete_pod(body["metadata"]["name"], body["metadata"]["uid"], self.world.now)

    def _state(self, name: str) -> State:
        return self.world.by_name(name).status.state

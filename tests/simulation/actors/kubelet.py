"""The nodes, the scheduler and the garbage collector. They bind pods, run their processes and report their ends.

The delays are realistic: a pod remains for 1.4 to 2.2 s after its process, a deleted pod gets SIGTERM and ten seconds,
a pod without a node is deleted at once, and an unreachable node confirms nothing.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torpor_kubernetes.client.resources import PODS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_local.apiserver.objects import FOREGROUND
from torpor_local.pods import program
from torpor_wire import times

from tests.simulation.actors.api_server import SimulatedApiServer
from tests.simulation.actors.container import ContainerPod
from tests.simulation.actors.worker import KILLED, Exit, PythonPod, Watcher
from tests.simulation.process import EPOCH, Process

GRACE = 10.0


@dataclass(slots=True, kw_only=True, eq=False)
class Machine:
    """A node. `answers`: its kubelet does; its processes may go on all the same."""

    name: str
    answers: bool = True
    waiting: list[Callable[[], None]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True, eq=False)
class RunningPod:
    """A pod on a node."""

    uid: str
    namespace: str
    name: str
    machine: Machine
    process: Process | None = None
    program: PythonPod | ContainerPod | None = None
    ended: Exit | None = None
    deleting: bool = False
    lingers: bool = False  # it has ended, and the kubelet has not said so yet
    abandoned: bool = False  # deleted by force, or with its node: nobody may count on it any more


class Kubelet:
    """All nodes, the scheduler and the garbage collector."""

    def __init__(self, server: SimulatedApiServer, rng: random.Random, watcher: Watcher, nodes: int = 2) -> None:
        self.process = Process(server.loop, "kubelet", "kubelet")
        self.machines = [Machine(name=f"node-{number}") for number in range(nodes)]
        self.running_pods: dict[str, RunningPod] = {}
        self.lingering = 2.2  # seconds at most from a process's end until that is said of its pod
        self._server = server
        self._fake = server.fake
        self._rng = rng
        self._watcher = watcher
        self._collecting = False
        server.observers.append(self._note)

    def running_pod_of(self, process: Process) -> RunningPod | None:
        """The pod that a process is in."""
        return next((pod_process for pod_process in self.running_pods.values() if pod_process.process is process), None)

    def evict(self, pod_process: RunningPod) -> None:
        """A drain: the pod is marked and deleted with its grace."""
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        self._edit(pod_process, {"status": {"conditions": [condition]}})
        self.delete(pod_process)

    def delete(self, pod_process: RunningPod, grace: int | None = None) -> None:
        """As a person would."""
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        if self._standing(pod_process.namespace, pod_process.name, pod_process.uid) is not None:
            self._act(
                lambda: self._fake.objects.delete(self._address(pod_process.namespace, pod_process.name), options)
            )

    def die(self, pod_process: RunningPod, code: int = KILLED) -> None:
        """The process ends without a word: out of memory, say."""
        if pod_process.process is not None and pod_process.process.alive:
            pod_process.process.kill()
            self._exited(pod_process, Exit(code))

    def lose(self, machine: Machine, *, dead: bool) -> None:
        """The node does not answer; `dead`: nothing on it runs any more either."""
        machine.answers = False
        for pod_process in self.running_pods.values():
            if dead and pod_process.machine is machine and pod_process.process is not None:
                pod_process.process.kill()
                if pod_process.ended is None and pod_process.program is not None:
                    self._watcher.left({}, pod_process.program.execution)
                pod_process.ended = pod_process.ended or Exit(KILLED)

    def give_up(self, machine: Machine, force: bool) -> None:
        """The control plane deletes what is on a node that has not answered for long; or somebody does, by force."""
        for pod_process in [
            pod_process
            for pod_process in self.running_pods.values()
            if pod_process.machine is machine and not machine.answers
        ]:
            self.evict(pod_process)
            if force:
                self.delete(pod_process, 0)

    def mend(self, machine: Machine) -> None:
        """The node answers again, and its kubelet catches up."""
        machine.answers = True
        waiting, machine.waiting = machine.waiting, []
        for act in waiting:
            self._later(0.1, 1.0, act)
        for pod_process in [
            pod_process
            for pod_process in self.running_pods.values()
            if pod_process.machine is machine and pod_process.ended is not None
        ]:
            self._later(0.1, 1.0, partial(self._finish, pod_process))

    # what happens to pods

    def _note(self, _: Process, entry: ObjectChange) -> None:
        if _concerns_the_collector(entry):
            self._collect_later()
        if entry.address.kind != collection(PODS):
            return
        if entry.after is None:
            self._vanished(entry)
        else:
            self._changed(entry.after)

    def _changed(self, body: Object) -> None:
        meta = body["metadata"]
        pod_process = self.running_pods.get(meta["uid"])
        deleting = "deletionTimestamp" in meta
        if pod_process is None and deleting:
            self._later(5.0, 10.0, lambda: self._sweep(meta["namespace"], meta["name"], meta["uid"]))
        elif pod_process is None and not body["spec"].get("schedulingGates"):
            self._later(0.05, 0.5, lambda: self._bind(meta["namespace"], meta["name"], meta["uid"]))
        elif pod_process is not None and deleting and not pod_process.deleting:
            pod_process.deleting = True
            self._later(0.05, 0.3, lambda: self._stop(pod_process))

    def _sweep(self, namespace: str, name: str, uid: str) -> None:
        """The pod collector: what is being deleted and has no node never ran."""
        machine = self._standing(namespace, name, uid)
        if machine is not None and uid not in self.running_pods:
            address = self._address(namespace, name)
            if machine["status"].get("phase") != "Failed":
                self._act(lambda: self._fake.objects.edit(address, {"status": {"phase": "Failed"}}))
            self._act(lambda: self._fake.objects.delete(address, {"gracePeriodSeconds": 0}))

    def _bind(self, namespace: str, name: str, uid: str) -> None:
        body = self._standing(namespace, name, uid)
        if body is None or uid in self.running_pods or "deletionTimestamp" in body["metadata"]:
            return
        machine = self._rng.choice([candidate for candidate in self.machines if candidate.answers] or self.machines)
        pod_process = self.running_pods[uid] = RunningPod(uid=uid, namespace=namespace, name=name, machine=machine)
        self._edit(pod_process, {"spec": {"nodeName": machine.name}})
        self._later(0.1, 0.8, lambda: self._start(pod_process))

    def _start(self, pod_process: RunningPod) -> None:
        if self._unanswered(pod_process, lambda: self._start(pod_process)):
            return
        body = self._standing(pod_process.namespace, pod_process.name, pod_process.uid)
        if body is None or pod_process.deleting or pod_process.process is not None:
            return
        if self._rng.random() < 0.03:
            waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "a registry's bad day"}}
            self._edit(pod_process, {"status": {"containerStatuses": [{"name": "main", "state": waiting}]}})
            self._later(1.0, 5.0, lambda: self._start(pod_process))
            return
        pod_process.process = process = Process(
            self._server.loop, "pod", pod_process.name, offset=self._rng.choice((0.0, 0.0, -2.0, 3.0))
        )
        process.on_exit = lambda error: self._broken(pod_process, error)
        network = self._server.transport(process)
        if program.is_python(body):
            seed = self._rng.getrandbits(32)
            pod_process.program = PythonPod(process, network, body, random.Random(seed), self._watcher)
        else:
            pod_process.program = ContainerPod(process, body, self._watcher)
        self._edit(pod_process, {"status": {"phase": "Running", "containerStatuses": []}})
        process.start(self._conducted(pod_process, pod_process.program))

    async def _conducted(self, pod_process: RunningPod, program: PythonPod | ContainerPod) -> None:
        self._exited(pod_process, await program.main())

    def _broken(self, pod_process: RunningPod, error: BaseException | None) -> None:
        if error is not None:
            raise error

    def _exited(self, pod_process: RunningPod, ended: Exit) -> None:
        if pod_process.ended is None:
            pod_process.ended, pod_process.lingers = ended, True
            if pod_process.program is not None:
                self._watcher.left({}, pod_process.program.execution)
            self._later(1.4, self.lingering, lambda: self._finish(pod_process))

    def _finish(self, pod_process: RunningPod) -> None:
        """Say how it ended; a pod that is to be deleted goes after that."""
        if self._unanswered(pod_process, lambda: self._finish(pod_process)):
            return
        ended, pod_process.lingers = pod_process.ended or Exit(KILLED), False
        terminated = {
            "exitCode": ended.code,
            "reason": "Error" if ended.code else "Completed",
            "message": ended.message,
            "finishedAt": times.rfc3339(EPOCH + int(self.process.loop.time())),
        }
        state = [{"name": "main", "state": {"terminated": terminated}}]
        phase = "Failed" if ended.code else "Succeeded"
        self._edit(pod_process, {"status": {"phase": phase, "containerStatuses": state}})
        if pod_process.deleting:
            self._later(0.01, 0.1, lambda: self.delete(pod_process, 0))

    def _stop(self, pod_process: RunningPod) -> None:
        if self._unanswered(pod_process, lambda: self._stop(pod_process)):
            return
        if pod_process.process is None:
            # Since 1.27 a kubelet lets no pod go before its phase is terminal, also where nothing was started.
            self._edit(pod_process, {"status": {"phase": "Failed"}})
            self.delete(pod_process, 0)
        elif pod_process.ended is None and pod_process.program is not None:
            pod_process.process.call_later(0.0, pod_process.program.terminated)
            self.process.call_later(GRACE, self.die, pod_process)

    def _vanished(self, entry: ObjectChange) -> None:
        uid = (entry.before or {})["metadata"]["uid"]
        pod_process = self.running_pods.get(uid)
        if pod_process is not None and pod_process.process is not None and pod_process.ended is None:
            pod_process.abandoned = True
            self._later(0.2, 2.0, lambda: self._reap(pod_process))

    def _reap(self, pod_process: RunningPod) -> None:
        """The kubelet finds a process whose pod is no more."""
        if not self._unanswered(pod_process, lambda: self._reap(pod_process)):
            self.die(pod_process)

    # means

    def _unanswered(self, pod_process: RunningPod, act: Callable[[], None]) -> bool:
        if not pod_process.machine.answers:
            pod_process.machine.waiting.append(act)
        return not pod_process.machine.answers

    def _standing(self, namespace: str, name: str, uid: str) -> Object | None:
        version = self._fake.history.get(self._address(namespace, name))
        return version if version is not None and version["metadata"]["uid"] == uid else None

    def _edit(self, pod_process: RunningPod, merge: Object) -> None:
        if self._standing(pod_process.namespace, pod_process.name, pod_process.uid) is not None:
            self._act(lambda: self._fake.objects.edit(self._address(pod_process.namespace, pod_process.name), merge))

    def _act(self, change: Callable[[], Any]) -> None:
        self._server.act(self.process, change)

    def _address(self, namespace: str, name: str) -> Any:
        return self._fake.objects.address(PODS, namespace, name)

    def _later(self, least: float, most: float, act: Callable[[], None]) -> None:
        self.process.call_later(round(self._rng.uniform(least, most), 3), act)

    def _collect_later(self) -> None:
        if not self._collecting:
            self._collecting = True
            self._later(0.1, 1.5, self._collect)

    def _collect(self) -> None:
        self._collecting = False
        self._act(lambda: self._fake.objects.collect_garbage({}))


def _concerns_the_collector(entry: ObjectChange) -> bool:
    """Whether something is gone, has come (perhaps after its owner had gone), or waits for what it owns to go."""
    if entry.after is None:
        return True
    meta = entry.after["metadata"]
    return (entry.before is None and "ownerReferences" in meta) or FOREGROUND in meta.get("finalizers", ())

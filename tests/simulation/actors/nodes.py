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
from torpor_local.pods import program, status

from tests.simulation.actors import container_sequence
from tests.simulation.actors.api_server import SimulatedApiServer
from tests.simulation.actors.container import ContainerPod
from tests.simulation.actors.container_sequence import ContainerSequence
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
    body: Object
    machine: Machine
    process: Process | None = None
    program: PythonPod | ContainerPod | ContainerSequence | None = None
    ended: Exit | None = None
    deleting: bool = False
    lingers: bool = False  # it has ended, and the kubelet has not said so yet
    abandoned: bool = False  # deleted by force, or with its node: nobody may count on it any more


class SimulatedNodes:
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
        return next((pod for pod in self.running_pods.values() if pod.process is process), None)

    def evict(self, pod: RunningPod) -> None:
        """A drain: the pod is marked and deleted with its grace."""
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        self._edit(pod, {"status": {"conditions": [condition]}})
        self.delete(pod)

    def delete(self, pod: RunningPod, grace: int | None = None) -> None:
        """As a person would."""
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        if self._standing(pod.namespace, pod.name, pod.uid) is not None:
            self._act(lambda: self._fake.objects.delete(self._address(pod.namespace, pod.name), options))

    def die(self, pod: RunningPod, code: int = KILLED) -> None:
        """The process ends without a word: out of memory, say."""
        if pod.process is not None and pod.process.alive:
            pod.process.kill()
            self._exited(pod, Exit(code))

    def lose(self, machine: Machine, *, dead: bool) -> None:
        """The node does not answer; `dead`: nothing on it runs any more either."""
        machine.answers = False
        for pod in self.running_pods.values():
            if dead and pod.machine is machine and pod.process is not None:
                pod.process.kill()
                if pod.ended is None and pod.program is not None:
                    self._watcher.left({}, pod.program.execution)
                pod.ended = pod.ended or Exit(KILLED)

    def give_up(self, machine: Machine, force: bool) -> None:
        """The control plane deletes what is on a node that has not answered for long; or somebody does, by force."""
        for pod in [pod for pod in self.running_pods.values() if pod.machine is machine and not machine.answers]:
            self.evict(pod)
            if force:
                self.delete(pod, 0)

    def mend(self, machine: Machine) -> None:
        """The node answers again, and its kubelet catches up."""
        machine.answers = True
        waiting, machine.waiting = machine.waiting, []
        for act in waiting:
            self._later(0.1, 1.0, act)
        for pod in [pod for pod in self.running_pods.values() if pod.machine is machine and pod.ended is not None]:
            self._later(0.1, 1.0, partial(self._finish, pod))

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
        pod = self.running_pods.get(meta["uid"])
        deleting = "deletionTimestamp" in meta
        if pod is None and deleting:
            self._later(5.0, 10.0, lambda: self._sweep(meta["namespace"], meta["name"], meta["uid"]))
        elif pod is None and not body["spec"].get("schedulingGates"):
            self._later(0.05, 0.5, lambda: self._bind(meta["namespace"], meta["name"], meta["uid"]))
        elif pod is not None and deleting and not pod.deleting:
            pod.deleting = True
            self._later(0.05, 0.3, lambda: self._stop(pod))

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
        pod = self.running_pods[uid] = RunningPod(uid=uid, namespace=namespace, name=name, body=body, machine=machine)
        self._edit(pod, {"spec": {"nodeName": machine.name}})
        self._later(0.1, 0.8, lambda: self._start(pod))

    def _start(self, pod: RunningPod) -> None:
        if self._unanswered(pod, lambda: self._start(pod)):
            return
        body = self._standing(pod.namespace, pod.name, pod.uid)
        if body is None or pod.deleting or pod.process is not None:
            return
        if self._rng.random() < 0.03:
            waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "a registry's bad day"}}
            self._edit(pod, {"status": {"containerStatuses": [{"name": "main", "state": waiting}]}})
            self._later(1.0, 5.0, lambda: self._start(pod))
            return
        pod.process = process = Process(
            self._server.loop, "pod", pod.name, offset=self._rng.choice((0.0, 0.0, -2.0, 3.0))
        )
        process.on_exit = lambda error: self._broken(pod, error)
        network = self._server.transport(process)
        if program.is_python(body):
            seed = self._rng.getrandbits(32)
            pod.program = PythonPod(process, network, body, random.Random(seed), self._watcher)
        elif container_sequence.has_scripts(body):
            seed = self._rng.getrandbits(32)
            report = partial(self._report, pod)
            pod.program = ContainerSequence(process, body, self._watcher, random.Random(seed), report)
        else:
            pod.program = ContainerPod(process, body, self._watcher)
        self._edit(pod, {"status": _running_status(pod, self._now())})
        process.start(self._conducted(pod, pod.program))

    def _report(self, pod: RunningPod) -> None:
        """Write the present status of a pod of several containers, unless its end is about to be written."""
        if pod.ended is None and not self._unanswered(pod, lambda: self._report(pod)):
            self._edit(pod, {"status": _running_status(pod, self._now())})

    async def _conducted(self, pod: RunningPod, program: PythonPod | ContainerPod | ContainerSequence) -> None:
        self._exited(pod, await program.main())

    def _broken(self, pod: RunningPod, error: BaseException | None) -> None:
        if error is not None:
            raise error

    def _exited(self, pod: RunningPod, ended: Exit) -> None:
        if pod.ended is None:
            pod.ended, pod.lingers = ended, True
            if pod.program is not None:
                self._watcher.left({}, pod.program.execution)
            self._later(1.4, self.lingering, lambda: self._finish(pod))

    def _finish(self, pod: RunningPod) -> None:
        """Say how it ended; a pod that is to be deleted goes after that."""
        if self._unanswered(pod, lambda: self._finish(pod)):
            return
        ended, pod.lingers = pod.ended or Exit(KILLED), False
        self._edit(pod, {"status": _ended_status(pod, ended, self._now())})
        if pod.deleting:
            self._later(0.01, 0.1, lambda: self.delete(pod, 0))

    def _stop(self, pod: RunningPod) -> None:
        if self._unanswered(pod, lambda: self._stop(pod)):
            return
        if pod.process is None:
            # Since 1.27 a kubelet lets no pod go before its phase is terminal, also where nothing was started.
            self._edit(pod, {"status": {"phase": "Failed"}})
            self.delete(pod, 0)
        elif pod.ended is None and pod.program is not None:
            pod.process.call_later(0.0, pod.program.terminated)
            self.process.call_later(GRACE, self.die, pod)

    def _vanished(self, entry: ObjectChange) -> None:
        uid = (entry.before or {})["metadata"]["uid"]
        pod = self.running_pods.get(uid)
        if pod is not None and pod.process is not None and pod.ended is None:
            pod.abandoned = True
            self._later(0.2, 2.0, lambda: self._reap(pod))

    def _reap(self, pod: RunningPod) -> None:
        """The kubelet finds a process whose pod is no more."""
        if not self._unanswered(pod, lambda: self._reap(pod)):
            self.die(pod)

    # means

    def _now(self) -> float:
        return EPOCH + int(self.process.loop.time())

    def _unanswered(self, pod: RunningPod, act: Callable[[], None]) -> bool:
        if not pod.machine.answers:
            pod.machine.waiting.append(act)
        return not pod.machine.answers

    def _standing(self, namespace: str, name: str, uid: str) -> Object | None:
        version = self._fake.history.get(self._address(namespace, name))
        return version if version is not None and version["metadata"]["uid"] == uid else None

    def _edit(self, pod: RunningPod, merge: Object) -> None:
        if self._standing(pod.namespace, pod.name, pod.uid) is not None:
            self._act(lambda: self._fake.objects.edit(self._address(pod.namespace, pod.name), merge))

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


def _running_status(pod: RunningPod, now: float) -> Object:
    program = pod.program
    return program.status(now) if isinstance(program, ContainerSequence) else status.running(pod.body, now)


def _ended_status(pod: RunningPod, ended: Exit, now: float) -> Object:
    program = pod.program
    if isinstance(program, ContainerSequence):
        return program.ended(ended, now)
    return status.ended(pod.body, ended.code, ended.message, now)


def _concerns_the_collector(entry: ObjectChange) -> bool:
    """Whether something is gone, has come (perhaps after its owner had gone), or waits for what it owns to go."""
    if entry.after is None:
        return True
    meta = entry.after["metadata"]
    return (entry.before is None and "ownerReferences" in meta) or FOREGROUND in meta.get("finalizers", ())

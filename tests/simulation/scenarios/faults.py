"""The faults of a seed. A simulation has few kinds of faults at a time, so that rare combinations occur.

`RandomFaults` decides on requests and watches; `disruptions` decides who is killed, paused or edited.
"""

import random
from dataclasses import dataclass

from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_local.apiserver.history import collection
from torpor_local.apiserver.server import ApiRequest

from tests.simulation.actors.api_server import RequestFault
from tests.simulation.process import Process

KINDS = (
    "lost",
    "dropped",
    "late",
    "errors",
    "lag",
    "coalesce",
    "stale",
    "breaks",
    "crash",
    "pause",
    "kill",
    "restart",
    "evict",
    "oom",
    "node",
    "clocks",
    "slow",
    "edits",
    "clear",
)
_COMBINATION_RATE = 1 / 3
_COMBINATIONS = (
    ("late", "evict"),
    ("late", "oom"),
    ("late", "clear"),
    ("lost", "lag", "slow"),
    ("lost", "lag", "slow"),
    ("lost", "edits"),
    ("lag", "kill", "slow"),
    ("lag", "restart", "slow"),
    ("lag", "restart", "evict"),
    ("lag", "pause", "evict"),
    ("lag", "clear", "restart"),
    ("stale", "kill"),
    ("breaks",),
    ("breaks", "pause"),
    ("pause",),
    ("edits", "restart"),
    ("edits", "clear"),
    ("edits", "pause"),
    ("edits", "lag"),
)
"""Combinations that reveal bugs which single kinds do not."""
_OF_REQUESTS = ("lost", "dropped", "late", "errors", "crash")
_BEHIND = 15.0
_STATUSES = (429, 500, 503, 504)


@dataclass(slots=True, kw_only=True)
class FaultProfile:
    """The kinds of faults of a simulation, their rate (higher for few kinds), and the time of the last."""

    kinds: frozenset[str]
    until: float
    rate: float = 1.0

    @classmethod
    def draw(cls, rng: random.Random) -> "FaultProfile":
        """Draw the kinds: none to nearly all, or in a third of the simulations a known combination."""
        until = rng.uniform(10.0, 30.0)
        if rng.random() < _COMBINATION_RATE:
            return cls(kinds=frozenset(rng.choice(_COMBINATIONS)), until=until, rate=2.0)
        likely = rng.choice((0.0, 0.2, 0.4, 0.6, 0.6, 0.9))
        return cls(kinds=frozenset(kind for kind in KINDS if rng.random() < likely), until=until)


class RandomFaults:
    """The `FaultPolicy` of a server."""

    def __init__(self, fault_profile: FaultProfile, rng: random.Random) -> None:
        self._profile = fault_profile
        self._rng = rng
        self._request_faults = [kind for kind in _OF_REQUESTS if kind in fault_profile.kinds]
        self.calm = False
        self.slow_deletions = False  # of the sources of Schedules, which may fire meanwhile
        self._slow: dict[tuple[Process, str], float] = {}
        self._stale: dict[Process, int] = {}
        self._unresponsive_until: dict[Process, float] = {}

    def request_fault(self, process: Process, request: ApiRequest) -> RequestFault:
        rng, kinds = self._rng, self._profile.kinds
        request_fault = RequestFault(there=rng.choice((0.002, 0.01, 0.03)), back=rng.choice((0.002, 0.01, 0.03)))
        if self.calm:
            return request_fault
        if rng.random() < 0.02 and kinds & {"late", "pause"}:
            request_fault.there = rng.choice((0.5, 2.0))
        if self.slow_deletions and request.method == "DELETE" and f"/{TASKRUNS.plural}/" in request.path:
            request_fault.there = rng.choice((0.01, 1.0, 3.0))
        if "stale" in kinds and request.method == "GET":
            request_fault.stale = self._staleness(process)
        if max(process.cut_until, self._unresponsive_to(process, request)) > process.loop.time():
            request_fault.dropped = True
        elif self._request_faults and rng.random() < self._profile.rate * (0.15 if _is_critical(request) else 0.04):
            self._apply(process, request_fault, rng.choice(self._request_faults), request)
        return request_fault

    def _apply(self, process: Process, request_fault: RequestFault, kind: str, request: ApiRequest) -> None:
        match kind:
            case "lost":
                # Or it comes when nobody counts on it any more.
                request_fault.lost, request_fault.back = self._rng.random() < 0.6, self._rng.choice((0.5, 4.0))
                if "lag" in self._profile.kinds and request.path.endswith(f"/{PODS.plural}"):
                    # The same fault delays this stream and its reconnects, and no other stream.
                    self._slow[process, collection(PODS)], self._slow[process, collection(TASKRUNS)] = _BEHIND, 0.01
                    self._unresponsive_until[process] = process.loop.time() + self._rng.choice((0.0, 3.0, 6.0))
            case "dropped":
                request_fault.dropped = True
            case "late" if request.method in {"PATCH", "POST", "PUT", "DELETE"}:
                request_fault.late = self._rng.choice((0.5, 2.0, 8.0))
            case "errors":
                request_fault.status = self._rng.choice(_STATUSES)
            case "crash":
                request_fault.crash = self._rng.choice(("before", "after"))

    def _unresponsive_to(self, process: Process, request: ApiRequest) -> float:
        """Until when nothing comes of such a request."""
        return self._unresponsive_until.get(process, 0.0) if f"/{PODS.plural}" in request.path else 0.0

    def lag(self, process: Process, collection: str) -> float:
        rng, kinds = self._rng, self._profile.kinds
        if self.calm or "lag" not in kinds:
            return 0.01
        stream = (process, collection)
        if stream not in self._slow or rng.random() < 0.04:
            # One stream falls behind while the others do not: what they tell meets in the wrong order.
            self._slow[stream] = rng.choice((0.01, 0.01, 1.0, 6.0, _BEHIND))
        return self._slow[stream] * rng.random() + 0.005

    def _staleness(self, process: Process) -> int:
        """Return the age of a list in changes. It stays the same for a while, as with one stale API server."""
        if process not in self._stale or self._rng.random() < 0.1:
            self._stale[process] = self._rng.choice((0, 0, 0, 1, 3, 10, 30))
        return self._stale[process]

    def behind(self) -> float:
        """Return the delay of a watch after a stale list."""
        return self._rng.choice((0.0, 0.0, 1.0, 6.0)) if "stale" in self._profile.kinds and not self.calm else 0.0

    def coalesces(self) -> bool:
        return "coalesce" in self._profile.kinds and self._rng.random() < 0.5


def _is_critical(request: ApiRequest) -> bool:
    """Whether somebody's next step depends on it: transitions, creations, deletions; not Leases and lists."""
    return request.path.endswith("/status") or request.method in {"POST", "DELETE"}

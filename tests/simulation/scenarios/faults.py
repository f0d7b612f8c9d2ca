"""What goes wrong, by seed. A world has a few kinds of trouble rather than all at once: rare meetings get their chance.

`Trouble` is what may befall requests and watches; who is killed, stopped or edited, and when, is `events`'.
"""

import random
from dataclasses import dataclass

from torpor_api.client.resources import PODS, TASKRUNS

from tests.simulation.actors.api_server import Fate
from tests.simulation.process import Process
from tests.support.fake_api import Request
from tests.support.fake_api.history import collection

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
_MEET = 1 / 3
_MEETINGS = (
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
"""Kinds that show together what each alone hides."""
_OF_REQUESTS = ("lost", "dropped", "late", "errors", "crash")
_BEHIND = 15.0
_STATUSES = (429, 500, 503, 504)


@dataclass(slots=True, kw_only=True)
class Climate:
    """The kinds of trouble of a world, how often they come (the fewer there are, the oftener), and until when."""

    kinds: frozenset[str]
    until: float
    often: float = 1.0

    @classmethod
    def drawn(cls, rng: random.Random) -> "Climate":
        """Some worlds have no kinds, some nearly all; in a third, those meet that make each other worse."""
        until = rng.uniform(10.0, 30.0)
        if rng.random() < _MEET:
            return cls(kinds=frozenset(rng.choice(_MEETINGS)), until=until, often=2.0)
        likely = rng.choice((0.0, 0.2, 0.4, 0.6, 0.6, 0.9))
        return cls(kinds=frozenset(kind for kind in KINDS if rng.random() < likely), until=until)


class Sky:
    """The `Weather` of a server."""

    def __init__(self, climate: Climate, rng: random.Random) -> None:
        self._climate = climate
        self._rng = rng
        self._ill = [kind for kind in _OF_REQUESTS if kind in climate.kinds]
        self.calm = False
        self._slow: dict[tuple[Process, str], float] = {}
        self._stale: dict[Process, int] = {}
        self._deaf_until: dict[Process, float] = {}

    def fate(self, process: Process, request: Request) -> Fate:
        rng, kinds = self._rng, self._climate.kinds
        fate = Fate(there=rng.choice((0.002, 0.01, 0.03)), back=rng.choice((0.002, 0.01, 0.03)))
        if self.calm:
            return fate
        if rng.random() < 0.02 and kinds & {"late", "pause"}:
            fate.there = rng.choice((0.5, 2.0))
        if "stale" in kinds and request.method == "GET":
            fate.stale = self._staleness(process)
        if max(process.cut_until, self._deaf_to(process, request)) > process.loop.time():
            fate.dropped = True
        elif self._ill and rng.random() < self._climate.often * (0.15 if _matters(request) else 0.04):
            self._befall(process, fate, rng.choice(self._ill), request)
        return fate

    def _befall(self, process: Process, fate: Fate, kind: str, request: Request) -> None:
        match kind:
            case "lost":
                # Or it comes when nobody counts on it any more.
                fate.lost, fate.back = self._rng.random() < 0.6, self._rng.choice((0.5, 4.0))
                if "lag" in self._climate.kinds and request.path.endswith(f"/{PODS.plural}"):
                    # The same trouble holds up the stream that would tell, and who asks again; not the other streams.
                    self._slow[process, collection(PODS)], self._slow[process, collection(TASKRUNS)] = _BEHIND, 0.01
                    self._deaf_until[process] = process.loop.time() + self._rng.choice((0.0, 3.0, 6.0))
            case "dropped":
                fate.dropped = True
            case "late" if request.method in {"PATCH", "POST", "PUT", "DELETE"}:
                fate.late = self._rng.choice((0.5, 2.0, 8.0))
            case "errors":
                fate.status = self._rng.choice(_STATUSES)
            case "crash":
                fate.crash = self._rng.choice(("before", "after"))

    def _deaf_to(self, process: Process, request: Request) -> float:
        """Until when nothing comes of such a request."""
        return self._deaf_until.get(process, 0.0) if f"/{PODS.plural}" in request.path else 0.0

    def lag(self, process: Process, collection: str) -> float:
        rng, kinds = self._rng, self._climate.kinds
        if self.calm or "lag" not in kinds:
            return 0.01
        stream = (process, collection)
        if stream not in self._slow or rng.random() < 0.04:
            # One stream falls behind while the others do not: what they tell meets in the wrong order.
            self._slow[stream] = rng.choice((0.01, 0.01, 1.0, 6.0, _BEHIND))
        return self._slow[stream] * rng.random() + 0.005

    def _staleness(self, process: Process) -> int:
        """How many changes old a list is. One server answers a process for a while: its lists are old together."""
        if process not in self._stale or self._rng.random() < 0.1:
            self._stale[process] = self._rng.choice((0, 0, 0, 1, 3, 10, 30))
        return self._stale[process]

    def behind(self) -> float:
        """Seconds until a watch begins to bring what a stale list lacked."""
        return self._rng.choice((0.0, 0.0, 1.0, 6.0)) if "stale" in self._climate.kinds and not self.calm else 0.0

    def coalesces(self) -> bool:
        return "coalesce" in self._climate.kinds and self._rng.random() < 0.5


def _matters(request: Request) -> bool:
    """Whether somebody's next step depends on it: transitions, creations, deletions; not Leases and lists."""
    return request.path.endswith("/status") or request.method in {"POST", "DELETE"}

"""A web service that receives notifications: at times it is unavailable, or its answer is lost."""

import json
import random
from dataclasses import dataclass, field

from torpor.triggers.services import HttpResponse, Request
from torpor_triggerer.network.sessions import Owner

from tests.simulation.loop import VirtualLoop

_UNAVAILABLE = 0.4
_LOST = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """One message that the service accepted: by its id, to which entry, of what event of which run."""

    id: str
    entry: str
    event: str
    source: str


@dataclass(kw_only=True, eq=False)
class SimulatedReceiver:
    """The same for all triggerers. It is always available after `until`."""

    loop: VirtualLoop
    rng: random.Random
    until: float
    accepted: list[ReceivedMessage] = field(default_factory=list)

    async def request(self, request: Request, owner: Owner) -> HttpResponse:
        """Accept a message, or refuse it; a lost answer is an OSError."""
        faulty = self.loop.time() < self.until
        if faulty and self.rng.random() < _UNAVAILABLE:
            status = self.rng.choice((429, 503))
            return HttpResponse(status, {"retry-after": "2"} if status == 429 else {}, b"", False)
        body = json.loads(request.body or b"{}")
        entry = request.url.rpartition("/")[2]
        message = ReceivedMessage(id=body["id"], entry=entry, event=body["event"], source=body["source"])
        self.accepted.append(message)
        if faulty and self.rng.random() < _LOST:
            raise OSError("connection reset by peer")
        return HttpResponse(200, {}, b"", False)

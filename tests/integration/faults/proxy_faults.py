"""Which fault strikes a request to the API server. Pure: the random number comes in."""

from collections.abc import Mapping
from enum import StrEnum


class ProxyFault(StrEnum):
    """What a proxy does to a request."""

    DELAY = "delay"
    """The request is sent up to a second late."""
    DROP = "drop"
    """The connection is closed, and the API server never sees the request."""
    REPEAT = "repeat"
    """The API server gets the request twice. The caller gets the second response."""
    LOSE_RESPONSE = "lose response"
    """The API server executes the request, and the connection is closed instead of a response."""
    TOO_MANY_REQUESTS = "429"
    """Status 429 with Retry-After."""
    SERVER_ERROR = "500"
    UNAUTHORIZED = "401"
    """As with an expired token or client certificate."""
    CUT_WATCH = "cut watch"
    """A watch ends in the middle of its stream."""
    EXPIRE_WATCH = "410"
    """A watch gets an event of type ERROR with code 410, as after a compaction."""


_WATCHES = frozenset({ProxyFault.CUT_WATCH, ProxyFault.EXPIRE_WATCH})
_WRITES = frozenset({ProxyFault.REPEAT, ProxyFault.LOSE_RESPONSE})


def applies(fault: ProxyFault, *, method: str, watch: bool) -> bool:
    """Return whether a fault can strike such a request: some are for watches, some for writes, the rest for all."""
    if fault in _WATCHES:
        return watch
    if fault in _WRITES:
        return method != "GET"
    return True


def choose(rates: Mapping[ProxyFault, float], draw: float, *, method: str, watch: bool) -> ProxyFault | None:
    """Return the fault for a `draw` from 0 to 1: each has its rate as the probability."""
    for fault, rate in rates.items():
        if applies(fault, method=method, watch=watch):
            if draw < rate:
                return fault
            draw -= rate
    return None

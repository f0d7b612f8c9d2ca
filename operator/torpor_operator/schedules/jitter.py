"""The delay of the ticks of a Schedule: fixed, so that runs keep their distance. Pure."""

import hashlib
import math


def delay_of(uid: str, jitter: float) -> float:
    """Return the delay in whole seconds: uniform in [0, jitter) over the uids, the same for one uid and jitter."""
    choices = math.ceil(jitter)
    if choices <= 1:
        return 0.0
    return float(int.from_bytes(hashlib.sha256(uid.encode()).digest()) % choices)

"""The delay of the ticks of a Schedule (`spec.jitter`). Pure."""

import hashlib
import math


def delay_of(uid: str, jitter: float) -> float:
    """Return the delay of all ticks of a Schedule in whole seconds: fixed by its uid, and uniform in [0, jitter)."""
    choices = math.ceil(jitter)
    if choices <= 1:
        return 0.0
    return float(int.from_bytes(hashlib.sha256(uid.encode()).digest()) % choices)

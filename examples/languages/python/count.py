"""Counts to three and waits before each step but the first. Python without the SDK, as a container task.

Arguments are environment variables: `mode` and `message` choose another end, `wait` is the length of a wait.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

TARGET = 3


def outcome(environment: dict[str, str]) -> dict[str, Any]:
    """Return the outcome of this segment."""
    message = environment.get("message", "")
    match environment.get("TORPOR_PROTOCOL"), environment.get("mode", ""):
        case "1", "fail":
            return {"fail": {"message": message}}
        case "1", "fail_final":
            return {"fail": {"message": message, "retryable": False}}
        case "1", "skip":
            return {"skip": {"message": message}}
        case "1", "crash":
            sys.exit(3)
        case "1", _:
            return step(environment)
        case other, _:
            return {"fail": {"message": f"protocol {other} is not supported", "retryable": False}}


def step(environment: dict[str, str]) -> dict[str, Any]:
    """Return the next wait, or the result."""
    state = json.loads(environment.get("TORPOR_STATE", "0"))
    if environment.get("TORPOR_TIMED_OUT") == "true":
        return {"result": {"count": state, "timed_out": True}}
    count = state + 1
    if count < TARGET:
        trigger = {"class": "duration", "kwargs": {"duration": environment.get("wait", "1s")}}
        return {"defer": {"trigger": trigger, "state": count, "timeout": "1h", "onTimeout": "resume"}}
    return {"result": {"count": count, "event": json.loads(environment["TORPOR_EVENT"])}}


if __name__ == "__main__":
    document = {"torpor": 1, "nonce": os.environ["TORPOR_OUTCOME_NONCE"], **outcome(dict(os.environ))}
    Path(os.environ["TORPOR_OUTCOME"]).write_text(json.dumps(document), encoding="utf-8")

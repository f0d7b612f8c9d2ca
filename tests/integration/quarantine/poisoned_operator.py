"""The operator with faults that its code does not know: the name of a Workflow chooses the fault of its plan."""

import ctypes
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from torpor_operator.__main__ import main
from torpor_operator.workflows import reconciler


def _loop() -> None:
    while True:
        pass


def _match_for_ever() -> None:
    """A search that never releases the interpreter."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def _compute_for_ever() -> None:
    """Arithmetic in C that takes hours."""
    (3 ** (10**7)) ** (10**3)


def _sleep() -> None:
    time.sleep(3600)


def _lock_twice() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def _kill() -> None:
    """As the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def _read_address_zero() -> None:
    ctypes.string_at(0)


def _exhaust_the_stack() -> None:
    sys.setrecursionlimit(10**9)
    nested: list[Any] = []
    for _ in range(10**6):
        nested = [nested]
    repr(nested)


FAULTS: dict[str, Callable[[], object]] = {
    "loop": _loop,
    "match": _match_for_ever,
    "compute": _compute_for_ever,
    "sleep": _sleep,
    "lock": _lock_twice,
    "kill": _kill,
    "address": _read_address_zero,
    "stack": _exhaust_the_stack,
    "abort": os.abort,
    "exit": sys.exit,
}
_PLAN = vars(reconciler)["plan"]


def _plan(snapshot: Any, *arguments: Any) -> Any:
    fault = FAULTS.get(snapshot.workflow.metadata.name)
    if fault is not None:
        fault()
    return _PLAN(snapshot, *arguments)


if __name__ == "__main__":
    vars(reconciler)["plan"] = _plan
    main()

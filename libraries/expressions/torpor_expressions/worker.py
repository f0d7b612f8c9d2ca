"""The child process that evaluates one expression at a time: `python -m torpor_expressions.worker SECONDS BYTES`.

It isolates the operator from expressions of users: too much time or memory, or a crash in native code, ends this
process only. It ends itself, by a CPU timer during an evaluation, by its limit on address space, and at the end of its
standard input. It holds no state.
"""

import json
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

from torpor_expressions import errors, evaluation, ipc
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import Value

RESULT_MAX = 64 * 1024


def main() -> None:
    """Report readiness, then answer each message with the outcome and its CPU time until the input ends."""
    seconds, memory = float(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    _send(answers, ipc.encode({"ready": True}))
    while (body := ipc.read(requests)) is not None:
        # CPU time, not wall time: a busy node must not fail an expression. The default action of
        # SIGPROF ends the process even inside native code, where a handler would wait.
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        frame = _answer(body)
        signal.setitimer(signal.ITIMER_PROF, 0)
        # It may not release its memory, which would count for the next expression.
        ends = _address_space() > memory // 2
        # The expression also pays for the start of the next child.
        used = time.process_time() - (0.0 if ends else began)
        _send(answers, frame + ipc.encode({"used": used, "ends": ends}))
        if ends:
            return


def _address_space() -> int:
    """Return the bytes that the limit counts. ru_maxrss would include the parent's at the fork."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0  # Without /proc, as on macOS, only the limit protects.
    return int(pages) * resource.getpagesize()


def _answer(body: bytes) -> bytes:
    try:
        request = json.loads(body)
        return _frame(evaluation.evaluate(request["expression"], request["variables"]))
    except MemoryError:
        return _frame(errors.too_expensive("the expression needs too much memory"))
    except RecursionError:
        return _frame(errors.failed("the values are nested too deep"))


def _frame(outcome: Value | ExpressionError) -> bytes:
    message: dict[str, Any]
    match outcome:
        case Value(json=value):
            message = {"value": value}
        case ExpressionError(reason=reason, message=text):
            message = {"reason": reason, "message": text}
    frame = ipc.encode(message)
    if len(frame) > RESULT_MAX:
        size = f"{len(frame) // 1024:,} kB"
        return _frame(errors.too_expensive(f"the result has {size} of JSON; {RESULT_MAX // 1024} kB are allowed"))
    return frame


def _send(stream: BinaryIO, frame: bytes) -> None:
    stream.write(frame)
    stream.flush()


if __name__ == "__main__":
    main()

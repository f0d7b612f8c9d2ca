"""Answers the requests of an interpreter that an operator starts, such as that of `@task.external_python`.

Airflow's script in the child connects to a socket whose number is in a variable, and reads the level of its log and
connections through it. The child runs with the rights of its task, so it gets what the task gets. It imports Airflow as
an installation: the bridge need not be in its environment.
"""

import json
import logging
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

import msgspec
from airflow.sdk.execution_time import comms
from airflow.sdk.execution_time.comms import _RequestFrame, _ResponseFrame
from pydantic import TypeAdapter

from torpor_airflow import environment
from torpor_airflow.operators.supervisor import InProcessSupervisor, UnsupportedRequestError

_VARIABLE = "__AIRFLOW_SUPERVISOR_FD"
_SIZE_BYTES = 4
_FRAME_MAX = 16 << 20
_ENDING_SECONDS = 5.0
"""A process that a child has left behind keeps the log open."""
_STARTING = ("_BasePythonVirtualenvOperator",)
"""Bases of the operators that start an interpreter with Airflow's script."""


@contextmanager
def answered(operator: Any, supervisor: InProcessSupervisor) -> Iterator[None]:
    """Answer the children that start inside the block, one after the other, if the operator starts any."""
    if not any(each.__name__ in _STARTING for each in type(operator).__mro__):
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    os.environ[_VARIABLE] = str(theirs.fileno())
    lines, log = os.pipe()
    threads = [
        threading.Thread(target=_serve, args=(ours, log, supervisor), daemon=True),
        threading.Thread(target=_write_log, args=(lines,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        with _environment_of_children():
            yield
    finally:
        del os.environ[_VARIABLE]
        theirs.close()
        ours.shutdown(socket.SHUT_RDWR)
        os.close(log)
        for thread in threads:
            thread.join(_ENDING_SECONDS)
        ours.close()


@contextmanager
def _environment_of_children() -> Iterator[None]:
    """Start each child without the variables of the bridge."""
    from airflow.providers.standard.operators import python  # noqa: PLC0415 - only for these operators

    start: Any = python._execute_in_subprocess  # noqa: SLF001 - the one place that starts a child

    def start_child(*given: Any, env: Mapping[str, str] | None = None, **others: Any) -> None:
        start(*given, env=environment.without_bridge(os.environ if env is None else env), **others)

    with patch.object(python, "_execute_in_subprocess", start_child):
        yield


def _serve(ours: socket.socket, log: int, supervisor: InProcessSupervisor) -> None:
    """Answer each request. That for the log gets the end of a pipe."""
    decoder, requests = msgspec.msgpack.Decoder(_RequestFrame), TypeAdapter[Any](comms.ToSupervisor)
    while (size := int.from_bytes(_read(ours, _SIZE_BYTES), "big")) and size <= _FRAME_MAX:
        frame = decoder.decode(_read(ours, size))
        request = requests.validate_python(frame.body)
        if isinstance(request, comms.ResendLoggingFD):
            sent = comms.SentFDs(fds=[log]).model_dump()
            socket.send_fds(ours, [_ResponseFrame(frame.id, sent).as_bytes()], [log])
            continue
        ours.sendall(_ResponseFrame(frame.id, *_answer(request, supervisor)).as_bytes())


def _write_log(lines: int) -> None:
    """Write the lines of a child to the log of the task, whose filter masks secrets."""
    with os.fdopen(lines, errors="replace") as read:
        for line in read:
            with suppress(ValueError, AttributeError):
                logging.getLogger("task").info("%s", json.loads(line).get("event"))


def _answer(request: Any, supervisor: InProcessSupervisor) -> tuple[Any, Any]:
    """Return the body and the error of the answer."""
    try:
        answer = supervisor.send(request)
    except UnsupportedRequestError as error:
        failed = comms.ErrorResponse(detail={"message": str(error)})
        return None, failed.model_dump()
    if isinstance(answer, comms.ErrorResponse):
        return None, answer.model_dump()
    return answer.model_dump(mode="json"), None


def _read(ours: socket.socket, wanted: int) -> bytes:
    """Return so many bytes, or fewer at the end."""
    found = b""
    while len(found) < wanted and (part := ours.recv(wanted - len(found))):
        found += part
    return found

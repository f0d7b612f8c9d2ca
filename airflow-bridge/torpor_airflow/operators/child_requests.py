"""Answers the requests of an interpreter that an operator starts, such as that of `@task.external_python`.

Airflow's script in the child connects to a socket whose number is in a variable. Through it, it asks for its log, for
XComs and for the state store. Its connections and variables are those of its environment, which is that of the task. It
imports Airflow as an installation: the bridge need not be in its environment.
"""

import logging
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from unittest.mock import patch

import msgspec
from airflow.sdk.execution_time import comms
from airflow.sdk.execution_time.comms import _RequestFrame, _ResponseFrame
from pydantic import TypeAdapter

from torpor_airflow import environment
from torpor_airflow.conversion import operator_kind
from torpor_airflow.operators import child_log
from torpor_airflow.operators.supervisor import InProcessSupervisor

_VARIABLE = "__AIRFLOW_SUPERVISOR_FD"
_SIZE_BYTES = 4
FRAME_MAX = 16 << 20
"""Bytes of a request."""
_ERROR_MAX = 2_000
_UNKNOWN = -1
"""The id of an answer to a frame that has none. A child has one request at a time."""
_ENDING_SECONDS = 5.0
"""A process that a child has left behind keeps the log open."""
_STARTING = ("_BasePythonVirtualenvOperator",)
"""Bases of the operators that start an interpreter with Airflow's script."""


@contextmanager
def answered(operator: Any, supervisor: InProcessSupervisor) -> Iterator[None]:
    """Answer the children that start inside the block, one after the other, if the operator starts any."""
    if not operator_kind.is_a(operator, *_STARTING):
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    os.environ[_VARIABLE] = str(theirs.fileno())
    lines, log = os.pipe()
    threads = [
        threading.Thread(target=serve, args=(ours, log, supervisor), daemon=True),
        threading.Thread(target=child_log.write, args=(lines,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        with _environment_of_children():
            yield
    finally:
        del os.environ[_VARIABLE]
        theirs.close()
        _end(ours)
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


def serve(ours: socket.socket, log: int, supervisor: InProcessSupervisor) -> None:
    """Answer each request until the socket ends. A request that is too large ends it. That for the log gets `log`."""
    try:
        while size := int.from_bytes(_read(ours, _SIZE_BYTES), "big"):
            if size > FRAME_MAX:
                logging.getLogger("task").error("a child sent a request of %d bytes; %d are possible", size, FRAME_MAX)
                return
            answer, files = _answer(_read(ours, size), log, supervisor)
            if files:
                socket.send_fds(ours, [answer], files)
            else:
                ours.sendall(answer)
    except OSError:
        pass  # the block of the operator has ended
    finally:
        _end(ours)  # otherwise the child would wait for an answer


def _answer(data: bytes, log: int, supervisor: InProcessSupervisor) -> tuple[bytes, list[int]]:
    """Return the frame of the answer, and the files that go with it. Each request gets an answer."""
    number = _UNKNOWN
    try:
        frame = msgspec.msgpack.decode(data, type=_RequestFrame)
        number = frame.id
        request = _requests().validate_python(frame.body)
        if isinstance(request, comms.ResendLoggingFD):
            return _ResponseFrame(number, comms.SentFDs(fds=[log]).model_dump()).as_bytes(), [log]
        answer = supervisor.send(request)
        if isinstance(answer, comms.ErrorResponse):
            return _ResponseFrame(number, None, answer.model_dump()).as_bytes(), []
        return _ResponseFrame(number, answer.model_dump(mode="json")).as_bytes(), []
    except Exception as error:  # noqa: BLE001 - no request of the child may make its task hang
        failed = comms.ErrorResponse(detail={"message": f"{type(error).__name__}: {error}"[:_ERROR_MAX]})
        return _ResponseFrame(number, None, failed.model_dump()).as_bytes(), []


@cache
def _requests() -> TypeAdapter[Any]:
    return TypeAdapter(comms.ToSupervisor)


def _end(ours: socket.socket) -> None:
    with suppress(OSError):
        ours.shutdown(socket.SHUT_RDWR)


def _read(ours: socket.socket, wanted: int) -> bytes:
    """Return so many bytes, or fewer at the end."""
    found = bytearray()
    while len(found) < wanted and (part := ours.recv(wanted - len(found))):
        found += part
    return bytes(found)

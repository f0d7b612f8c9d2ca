"""Requests of an interpreter that an operator starts, as Airflow's script in it sends them."""

import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk.execution_time import comms
from airflow.sdk.execution_time.comms import _RequestFrame, _ResponseFrame
from torpor_airflow import dag_module
from torpor_airflow.operators import child_requests
from torpor_airflow.operators.call import SegmentState
from torpor_airflow.operators.supervisor import InProcessSupervisor

SECONDS_MAX = 60.0
STORED = comms.GetTaskStateStore(ti_id="11111111-2222-3333-4444-555555555555", key="job")


def supervisor(**stored: Any) -> InProcessSupervisor:
    return InProcessSupervisor(
        dag_id="children", run_id="run", task_id="outside", xcoms={}, state=SegmentState(stored=stored)
    )


@pytest.fixture
def child() -> Iterator[socket.socket]:
    """The socket of a child whose requests are answered."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(SECONDS_MAX)
    thread = threading.Thread(target=child_requests.serve, args=(ours, 1, supervisor(job="j-1", wrong=object())))
    thread.start()
    with ours, theirs:
        yield theirs
        theirs.shutdown(socket.SHUT_RDWR)
        thread.join(SECONDS_MAX)


def frame(body: dict[str, Any]) -> bytes:
    return bytes(_RequestFrame(7, body).as_bytes())


def answer(child: socket.socket, request: bytes) -> Any:
    child.sendall(request)
    size = int.from_bytes(child.recv(4, socket.MSG_WAITALL), "big")
    return msgspec.msgpack.decode(child.recv(size, socket.MSG_WAITALL), type=_ResponseFrame)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("request_frame", "number", "message"),
    [
        (b"\x00\x00\x00\x03\xc1\xc1\xc1", -1, "DecodeError"),
        (frame({"type": "NoSuchRequest"}), 7, "ValidationError"),
        (frame(comms.GetDRCount(dag_id="orders").model_dump()), 7, "GetDRCount, which Torpor does not have"),
        (frame(STORED.model_copy(update={"key": "wrong"}).model_dump()), 7, "ValidationError"),
    ],
    ids=["not a frame", "unknown request", "request without a counterpart", "answer that is no JSON"],
)
def test_a_request_that_cannot_be_answered_gets_an_error(
    child: socket.socket, request_frame: bytes, number: int, message: str
) -> None:
    failed = answer(child, request_frame)
    assert (failed.id, failed.error["error"]) == (number, "GENERIC_ERROR")
    assert message in failed.error["detail"]["message"]
    assert answer(child, frame(STORED.model_dump())).body["value"] == "j-1"


@pytest.mark.attack
def test_a_request_that_is_too_large_ends_the_connection(child: socket.socket) -> None:
    child.sendall((child_requests.FRAME_MAX + 1).to_bytes(4, "big"))
    assert child.recv(1) == b""


def test_the_instances_of_a_mapped_operator_are_answered() -> None:
    (dag,) = dag_module.load("dag_children")
    with child_requests.answered(dag.get_task("each"), supervisor()):
        assert "__AIRFLOW_SUPERVISOR_FD" in os.environ
    assert "__AIRFLOW_SUPERVISOR_FD" not in os.environ

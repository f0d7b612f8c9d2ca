"""A Python interpreter that has imported Airflow already: it forks a process for each program.

A task of a local run would import Airflow for seconds. `started` yields the path of a program that takes the place of
the interpreter. It hands its arguments, variables and standard streams to the server, and ends as the process ends.
"""

import gc
import importlib
import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

_STREAMS = 3
_PARENT_SECONDS = 5
"""How often the server looks whether its parent lives: a killed check leaves no process behind."""
_MESSAGE_MAX = 1 << 20
_IMPORTS = (
    "torpor.runtime.main",
    "torpor_airflow.operators",
    "airflow.providers.standard.operators.bash",
    "airflow.providers.standard.operators.python",
    "airflow.serialization.encoders",  # for data intervals
)
_CLIENT = """#!{python} -SE
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
request = json.dumps([sys.argv[1:], dict(os.environ) | {variables!r}, os.getcwd()]).encode()
socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
server.sendall(request)
signal.signal(signal.SIGTERM, lambda *_: server.send(b"T"))  # within the request it would be part of it
if ended:
    server.send(b"T")
sys.exit(int(server.recv(16) or b"137"))
"""


@contextmanager
def started(folder: Path, variables: Mapping[str, str], imports: Iterable[str] = ()) -> Iterator[str]:
    """Start the server, and yield the path of the interpreter, which adds these variables to its own.

    `imports` are further modules that the server imports before the first task.
    """
    path = folder / "prefork.sock"
    program = folder / "python"
    program.write_text(_CLIENT.format(python=sys.executable, path=str(path), variables=dict(variables)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with socket.socket(socket.AF_UNIX) as listening:  # programs that come before the end of the imports wait
        listening.bind(str(path))
        listening.listen(64)
        server = subprocess.Popen(
            [sys.executable, "-m", "torpor_airflow.check.prefork", str(listening.fileno()), *imports],
            pass_fds=(listening.fileno(),),
        )
    try:
        yield str(program)
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Serve until SIGTERM, or the end of the parent."""
    parent = os.getppid()
    _import()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        listening.settimeout(_PARENT_SECONDS)
        while os.getppid() == parent:
            try:
                client, _ = listening.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(client)
            client.close()


def _import() -> None:
    """Import what each task needs. The server itself runs none of it."""
    for name in (*_IMPORTS, *sys.argv[2:]):
        importlib.import_module(name)
    from torpor_airflow.check import repeatable  # noqa: PLC0415 - Airflow takes seconds to import

    repeatable.prepare_tasks()
    gc.freeze()  # a collection would copy the pages that the processes share


def _serve(client: socket.socket) -> None:
    """Fork the program, and end with it. The program ends if its client does."""
    size, streams, _, _ = socket.recv_fds(client, 8, _STREAMS)
    wanted = int.from_bytes(size, "big")
    request = b""
    while len(request) < wanted and (part := client.recv(min(_MESSAGE_MAX, wanted - len(request)))):
        request += part
    arguments, variables, folder = json.loads(request)
    child = os.fork()
    if child == 0:
        client.close()
        _run(arguments, variables, folder, streams)
    for stream in streams:
        os.close(stream)
    program = os.pidfd_open(child)  # its number may be another process once the child has been waited for
    watching = os.fork()
    if watching == 0:
        _watch(client, program)
    _, status = os.waitpid(child, 0)
    os.kill(watching, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(status)
    client.send(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


def _watch(client: socket.socket, program: int) -> NoReturn:
    """Send the signals of the client to the program, and end it with the client."""
    with suppress(ProcessLookupError):
        while client.recv(1) == b"T":
            signal.pidfd_send_signal(program, signal.SIGTERM)
        signal.pidfd_send_signal(program, signal.SIGKILL)
    os._exit(0)


def _run(arguments: list[str], variables: dict[str, str], folder: str, streams: list[int]) -> None:
    """Run `-c CODE ARGUMENTS` as the interpreter would."""
    code = 0
    try:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(folder)
        random.seed(0)
        sys.argv = ["-c", *arguments[2:]]
        sys.path.insert(0, "")
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - the program of the task
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 - an interpreter prints it
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()

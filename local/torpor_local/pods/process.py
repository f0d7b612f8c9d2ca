"""The process of a pod: in a group of its own, with its output in a file. Its standard output can be kept, too."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from torpor_local.pods.locks import PodLock

_CHUNK = 64 * 1024


class PodProcess:
    """A started process. It and its descendants are one process group, so that signals reach all of them."""

    def __init__(self, process: asyncio.subprocess.Process, copying: "asyncio.Task[bytes] | None" = None) -> None:
        self._process = process
        self._copying = copying
        self._stopping: asyncio.TimerHandle | None = None
        self._has_ended = False

    @property
    def pid(self) -> int:
        """The process id, which is also that of the group."""
        return self._process.pid

    async def wait(self) -> int:
        """Wait for its end, end its descendants, and return the exit code; negative for a signal."""
        code = await self._process.wait()
        if self._stopping is not None:
            self._stopping.cancel()
        self._signal(signal.SIGKILL)
        self._has_ended = True
        return code

    async def output(self) -> bytes:
        """Return the first bytes of the standard output, after the end of the process; empty if it was not kept."""
        return b"" if self._copying is None else await self._copying

    def stop(self, grace: float) -> None:
        """Send SIGTERM, and SIGKILL after `grace` seconds."""
        if self._stopping is None:
            self._signal(signal.SIGTERM)
            self._stopping = asyncio.get_running_loop().call_later(grace, self.kill)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._has_ended:  # another process may have the id since
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def start(  # noqa: PLR0913 - what a process is started with
    argv: Sequence[str], env: Mapping[str, str], *, log: Path, folder: Path, lock: PodLock, kept: int = 0
) -> PodProcess:
    """Start a process. It inherits the locked file, which shows that it lives and has its process id. Raises OSError.

    `kept`: how many bytes of its standard output are also returned by `output`.

    The program waits for a byte on its standard input. It ends if there is none, so no process does anything before a
    later run could find it.
    """
    waiting, begin = os.pipe()
    try:
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=env,
                cwd=folder,
                stdin=waiting,
                stdout=asyncio.subprocess.PIPE if kept else output,
                stderr=output,
                start_new_session=True,
                pass_fds=(lock.descriptor,),
            )
        lock.write(process.pid)
        os.write(begin, b"\n")
    finally:
        os.close(waiting)
        os.close(begin)
    if process.stdout is None:
        return PodProcess(process)
    return PodProcess(process, asyncio.get_running_loop().create_task(_copy(process.stdout, log, kept)))


async def _copy(stdout: asyncio.StreamReader, log: Path, kept: int) -> bytes:
    """Copy the output to the log, and return its first bytes."""
    held = bytearray()
    with log.open("ab", buffering=0) as file:
        while chunk := await stdout.read(_CHUNK):
            file.write(chunk)
            held += chunk[: kept - len(held)]
    return bytes(held)


async def run(argv: Sequence[str], limit: float) -> None:
    """Run a command without its output, for `limit` seconds at most. Raises OSError."""
    command = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await asyncio.wait_for(command.wait(), limit)
    except TimeoutError:
        command.kill()
        await command.wait()
        raise

"""An operator as a process that starts again when it ends by itself, as its container would.

On a busy machine a leader may fail to renew its Lease in time, and ends.
"""

import asyncio
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import aiohttp
from torpor_demo.cluster import ROOT

from benchmarks.triggerer import usage

_LOOK = 0.2


class Operator:
    """One replica. `samples`: file for samples of its stack, which signals begin and end."""

    def __init__(
        self, identity: str, words: Sequence[str], environ: Mapping[str, str], log: Path, *, samples: Path | None = None
    ) -> None:
        self.identity = identity
        self.restarts = 0
        self._health = next(word for word in words if word.startswith("http://"))
        self._words = ("benchmarks.profile.sampled", str(samples), *words) if samples else tuple(words)
        self._environ = environ
        self._log = log
        self._sampled = samples is not None
        self._former, self._last = 0.0, 0.0
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Of the present process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it, and again whenever it ends by itself."""
        await self._spawn()
        self._keeping = asyncio.create_task(self._keep())

    def cpu(self) -> float:
        """Seconds of processor time so far, of its children and former processes too."""
        self._look()
        return self._former + self._last

    async def healthy(self) -> bool:
        """Whether it has been set up; it may not have listed anything yet."""
        try:
            async with aiohttp.ClientSession() as session, session.get(self._health) as answer:
                return answer.ok
        except aiohttp.ClientError:
            return False

    def sample(self, sign: signal.Signals) -> None:
        """Begin (SIGUSR1) or end (SIGUSR2) the samples, if it runs with the sampler."""
        if self._sampled and self._process is not None:
            self._process.send_signal(sign)

    async def end(self, sign: signal.Signals) -> None:
        """Send the signal, and return when the process has ended. It does not start again."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(sign)
            await self._process.wait()

    async def _keep(self) -> None:
        assert self._process is not None
        while True:
            while self._process.returncode is None:
                self._look()
                await asyncio.sleep(_LOOK)
            self._former, self._last = self._former + self._last, 0.0
            self.restarts += 1
            await self._spawn()

    async def _spawn(self) -> None:
        with self._log.open("a") as output:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *self._words), stdout=output, stderr=output, env=self._environ, cwd=ROOT
            )

    def _look(self) -> None:
        with suppress(OSError, ValueError, IndexError):
            self._last = usage.tree(self.pid)

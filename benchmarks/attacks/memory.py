"""Measures the maximum memory of processes and their children, and the processor time of other processes."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_EVERY = 0.1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_RESIDENT = 1  # of /proc/PID/statm
_TIMES = slice(11, 15)  # of /proc/PID/stat after the name in parentheses: its own, and those of children that ended
_IDLE = (3, 4)  # of the first line of /proc/stat: idle, iowait


class Peaks:
    """Bytes of resident memory by name. A page that a process shares with its child counts twice."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._found = dict.fromkeys(pids, 0)

    def look(self) -> None:
        """Take what there is now."""
        for name, pid in self._pids.items():
            self._found[name] = max(self._found[name], sum(map(_resident, tree(pid))))

    def mib(self) -> dict[str, float]:
        """The most so far; at least what the kernel noted of the process itself, between two looks."""
        return {name: max(found, _highest(self._pids[name])) / 1024**2 for name, found in self._found.items()}


@asynccontextmanager
async def peaks(pids: Mapping[str, int]) -> AsyncIterator[Peaks]:
    """Looked at ten times a second while this is open."""
    found = Peaks(pids)
    for pid in pids.values():
        _forget(pid)
    looking = asyncio.create_task(_look(found))
    try:
        yield found
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        found.look()


async def _look(found: Peaks) -> None:
    while True:
        found.look()
        await asyncio.sleep(_EVERY)


class Foreign:
    """How many processors all but this process and its children use."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), _busy() - _used()

    def mean(self) -> float:
        """Since this was made."""
        return max(0.0, _busy() - _used() - self._before) / (time.monotonic() - self._began)


def _busy() -> float:
    fields = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - sum(fields[at] for at in _IDLE)) / _TICKS


def _used() -> float:
    return sum(map(_cpu, tree(os.getpid())))


def _cpu(pid: int) -> float:
    with suppress(OSError):
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[_TIMES])) / _TICKS
    return 0.0


def alive(pid: int) -> bool:
    """Whether it still runs."""
    return _resident(pid) > 0


def tree(pid: int) -> list[int]:
    """The process and those it has started that still run."""
    found = [pid]
    for one in found:
        found += _children(one)
    return found


def _children(pid: int) -> Iterable[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                yield from map(int, (task / "children").read_text().split())


def _resident(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[_RESIDENT]) * _PAGE
    return 0


def _highest(pid: int) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
    return 0


def _forget(pid: int) -> None:
    """Let the kernel note the highest anew; where that is not allowed, it is that of the process's life."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")

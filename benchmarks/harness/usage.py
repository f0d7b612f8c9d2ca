"""Memory and processor time of processes, from /proc."""

import asyncio
import os
import resource
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.waiting import background

_TICKS = os.sysconf("SC_CLK_TCK")
_TIMES = slice(11, 13)  # of /proc/PID/stat after the name in parentheses
_TIMES_WITH_ENDED = slice(11, 15)  # those of children that ended, too
_IDLE = (3, 4)  # of the first line of /proc/stat: idle, iowait
_EVERY = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUsage:
    """`rss` is of the process alone, `pss` of it and its children, both in KiB; `cpu` is its own, in seconds."""

    rss: float
    pss: float
    cpu: float


def read_usage(pid: int) -> ProcessUsage:
    """As of now."""
    pss = sum(_rollup(process).get("Pss", 0.0) for process in tree(pid))
    return ProcessUsage(rss=_rollup(pid)["Rss"], pss=pss, cpu=cpu(pid))


def cpu(pid: int, *, times: slice = _TIMES) -> float:
    """Seconds of processor time of one process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[times])) / _TICKS


def tree_cpu(pid: int) -> float:
    """The same of a process and those it has started that still run."""
    return sum(map(cpu, tree(pid)))


def own_pss(pid: int) -> float:
    """Bytes of one process."""
    return _rollup(pid)["Pss"] * 1024


def children_cpu() -> float:
    """Seconds of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine_cpu() -> float:
    """Return the CPU seconds that all processes of the machine have used so far."""
    fields = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - sum(fields[at] for at in _IDLE)) / _TICKS


def tree(pid: int) -> list[int]:
    """The process and those it has started that still run."""
    pids = [pid]
    for parent in pids:
        pids += _children(parent)
    return pids


def alive(pid: int) -> bool:
    """Whether it still runs."""
    return "VmRSS" in _status(pid)


class Peaks:
    """The highest resident memory by name, with children. A page that a process shares with its child counts twice."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._highest = dict.fromkeys(pids, 0)

    def look(self) -> None:
        """Take what there is now."""
        for name, pid in self._pids.items():
            self._highest[name] = max(
                self._highest[name], sum(_status(process).get("VmRSS", 0) for process in tree(pid))
            )

    def mib(self) -> dict[str, float]:
        """The highest so far; at least what the kernel noted of the process itself, between two looks."""
        return {name: max(kib, _status(self._pids[name]).get("VmHWM", 0)) / 1024 for name, kib in self._highest.items()}


@asynccontextmanager
async def peaks(pids: Mapping[str, int]) -> AsyncIterator[Peaks]:
    """Looked at ten times a second while this is open."""
    highest = Peaks(pids)
    for pid in pids.values():
        _forget_peak(pid)
    async with background(_look(highest)):
        yield highest
    highest.look()


async def _look(highest: Peaks) -> None:
    while True:
        highest.look()
        await asyncio.sleep(_EVERY)


class OtherLoad:
    """How many processors all but this process and its children use."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), self._used()

    def mean(self) -> float:
        """Since this was made."""
        return max(0.0, self._used() - self._before) / (time.monotonic() - self._began)

    def _used(self) -> float:
        return machine_cpu() - sum(_tolerant(tree(os.getpid())))


def _tolerant(pids: Iterable[int]) -> Iterator[float]:
    for pid in pids:
        with suppress(OSError):
            yield cpu(pid, times=_TIMES_WITH_ENDED)


def _forget_peak(pid: int) -> None:
    """Let the kernel note the peak anew; where that is not allowed, it is that of the process's life."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                yield from map(int, (task / "children").read_text().split())


def _rollup(pid: int) -> dict[str, float]:
    """KiB by name."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        return {name: float(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return {}


def _status(pid: int) -> dict[str, int]:
    """KiB of VmRSS and VmHWM; nothing of a process that has ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return {}

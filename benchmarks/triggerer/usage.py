"""Measures the memory and processor time of a process and its children."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _STIME = 11, 12  # of /proc/PID/stat after the name in parentheses


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """`rss` is of the process alone, `pss` of it and its children, both in KiB; `cpu` is its own, in seconds."""

    rss: float
    pss: float
    cpu: float


def of(pid: int) -> Usage:
    """As of now."""
    return Usage(
        rss=_rollup(pid)["Rss"], pss=sum(_rollup(one).get("Pss", 0.0) for one in [pid, *children(pid)]), cpu=cpu(pid)
    )


def cpu(pid: int) -> float:
    """Seconds of processor time of one process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS


def tree(pid: int) -> float:
    """The same of a process and those it has started that still run."""
    return cpu(pid) + sum(map(cpu, children(pid)))


def own_pss(pid: int) -> float:
    """KiB of one process."""
    return _rollup(pid)["Pss"]


def _rollup(pid: int) -> dict[str, float]:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: float(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}


def children(pid: int) -> list[int]:
    """The processes that one has started, and theirs, as far as they run."""
    found = [
        int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
    ]
    return found + [deeper for one in found for deeper in children(one)]

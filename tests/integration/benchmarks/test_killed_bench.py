"""A bench that is killed leaves no process and no folder: the control plane and what it started beside it end too."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.triggerer import usage
from tests.integration.conftest import eventually

_ROOT = Path(__file__).resolve().parents[3]
_BENCH = """
import asyncio, json
from benchmarks.workflow import plane, processes

async def bench():
    async with plane.plane() as at, processes.start(at) as beside:
        print(json.dumps([str(at.state), at.servers, beside.pids]), flush=True)
        await asyncio.Event().wait()

asyncio.run(bench())
"""


def test_what_a_bench_started_ends_when_the_bench_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _BENCH], cwd=_ROOT, stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        try:
            state, servers, beside = json.loads(bench.stdout.readline())
            running = {pid: name for name, pid in (servers | beside).items()}
            running |= {pid: f"child of {name}" for of, name in [*running.items()] for pid in usage.children(of)}
            assert {"etcd", "kube-apiserver", "kube-scheduler", "operator", "kubelet", "worker"} <= {*running.values()}
        finally:
            bench.send_signal(signal.SIGKILL)
    eventually(lambda: not any(map(_runs, running)), f"all of {running} have ended")
    eventually(lambda: not Path(state).exists(), "the folder of the control plane is removed")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""A process that a killed run left behind is found by its lock and ended; no other process is."""

import fcntl
import signal
import subprocess
import sys
from pathlib import Path

from torpor_local.pods import locks
from torpor_local.pods.locks import PodLock

SLEEP = (sys.executable, "-c", "import time; print(flush=True); time.sleep(60)")


def test_a_process_with_a_held_lock_is_ended(tmp_path: Path) -> None:
    with PodLock.create(tmp_path, "uid") as lock:
        left = subprocess.Popen(SLEEP, pass_fds=(lock.descriptor,), start_new_session=True, stdout=subprocess.PIPE)
        assert left.stdout is not None
        left.stdout.readline()
        lock.write(left.pid)
        (tmp_path / "uid.lock").rename(tmp_path / "left.lock")  # the run that was killed removes nothing
    locks.kill_survivors(tmp_path)
    assert left.wait() == -signal.SIGKILL
    left.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_a_process_id_without_a_lock_is_not_signalled(tmp_path: Path) -> None:
    other = subprocess.Popen(SLEEP, start_new_session=True, stdout=subprocess.PIPE)
    (tmp_path / "uid.lock").write_text(str(other.pid))
    locks.kill_survivors(tmp_path)
    assert other.poll() is None
    other.kill()
    other.communicate()


HELD = """
import asyncio, os, sys
from pathlib import Path
from torpor_local.pods import process, program
from torpor_local.pods.locks import PodLock

class KilledLock(PodLock):
    def write(self, pid):
        os._exit(9)

async def main(folder):
    with PodLock.create(folder, "uid") as lock:
        argv = [sys.executable, "-c", program.WAIT + "open('begun', 'w').close()"]
        await process.start(argv, dict(os.environ), log=folder / "log", folder=folder, lock=KilledLock(lock.descriptor))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_program_whose_process_id_was_not_stored_does_not_begin(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", HELD, str(tmp_path)], check=False)
    assert killed.returncode == 9
    with (tmp_path / "uid.lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # free when the program has ended
    assert not (tmp_path / "begun").exists()
    locks.kill_survivors(tmp_path)
    assert not (tmp_path / "uid.lock").exists()

"""The process of a task pod: its signals, its end, and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from torpor.runtime import environment as launches
from torpor_wire import constants
from torpor_wire.runtime_variable import RuntimeVariable

from tests.support.runtime import tokens

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH = {
    constants.ENV_RUNTIME: RuntimeVariable(
        "default", "ingest-load-abcde", "taskrun-uid", "2023-11-14T22:13:00Z", 1
    ).text(),
}

PROCESS = """
import json, os, sys
from torpor.runtime import environment, main
from torpor.runtime.http import ApiResponse

class Server:
    def __call__(self, method, path, body=None):
        states = [op["value"] for op in body if op["op"] == "add" and op["path"] == "/status/state"]
        claims = [op["value"].get("source", "") for op in body if op["path"] == "/status/pod"]
        print(" ".join(["patched to", *states, *filter(None, claims)]), flush=True)
        spec = {"workflow": {"name": "w", "uid": "u"}, "task": "load", "python": "authored:load"}
        spec["arguments"] = json.loads(os.environ.get("ARGUMENTS", "[]"))
        return ApiResponse(200, {"metadata": {"uid": "taskrun-uid"}, "spec": spec, "status": {"state": "Running"}})
    def close(self):
        pass

def begin():
    launched = environment.read(os.environ, "nonce", "pod-uid")
    return main.run(main.build_runtime(Server()), environment.with_source(launched, os.environ))

main.main(begin)
"""


def start(tmp_path: Path, source: str, **environment: str) -> subprocess.Popen[str]:
    (tmp_path / "authored.py").write_text(source)
    given = os.environ | LAUNCH | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(tmp_path)} | environment
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS], env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    out, err = process.communicate(timeout=180)
    assert "Traceback" not in err or "authored" in err, err
    return process.returncode, out.splitlines()


def test_a_success_ends_with_code_zero(tmp_path: Path) -> None:
    process = start(tmp_path, "def load(): print('at work')")

    assert ended(process) == (0, ["patched to Running", "at work", "patched to Succeeded"])


def test_a_failure_that_is_reported_ends_with_code_one(tmp_path: Path) -> None:
    process = start(tmp_path, "def load(): raise ValueError")

    assert ended(process) == (1, ["patched to Running", "patched to Failed"])


GUARDED = """
import time
def load():
    try:
        print('at work')
        time.sleep(60)
    except BaseException as error:
        print('ended by', type(error).__name__)
        {then}
"""
ASYNC = "import asyncio\nasync def load():\n    print('at work')\n    await asyncio.sleep(60)"


def deleted(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Sends SIGTERM once the task is at work."""
    assert process.stdout is not None
    for line in process.stdout:
        if line == "at work\n":
            break
    process.send_signal(signal.SIGTERM)
    return ended(process)


def test_a_pod_that_is_deleted_lets_the_task_clean_up_and_reports_nothing(tmp_path: Path) -> None:
    process = start(tmp_path, GUARDED.format(then="raise"))

    assert deleted(process) == (143, ["ended by Terminated"])


def test_a_pod_that_is_deleted_ends_an_async_task_as_well(tmp_path: Path) -> None:
    assert deleted(start(tmp_path, ASYNC)) == (143, [])


OPERATOR = """
import time
class load:
    def pre_execute(self, context):
        print('pre_execute of', context['task'])
    def execute(self, context):
        self.job = 7
        try:
            {body}
        finally:
            print('execute has ended', flush=True)
    def post_execute(self, context, result):
        print('post_execute with', result)
    def on_kill(self):
        print('cancelled job', self.job)
        {kill}
"""
WORK = "print('at work', flush=True); time.sleep(60)"


def test_an_operator_whose_pod_is_stopped_stops_its_job(tmp_path: Path) -> None:
    process = start(tmp_path, OPERATOR.format(body=WORK, kill=""))

    assert deleted(process) == (143, ["execute has ended", "cancelled job 7"])


def test_an_operator_that_catches_the_end_of_its_pod_stops_its_job(tmp_path: Path) -> None:
    source = OPERATOR.format(body=WORK, kill="").replace(
        "finally:", "except BaseException:\n            raise OSError('authored')\n        finally:"
    )

    assert deleted(start(tmp_path, source)) == (143, ["execute has ended", "cancelled job 7"])


def test_an_on_kill_that_fails_ends_the_pod_as_before(tmp_path: Path) -> None:
    process = start(tmp_path, OPERATOR.format(body=WORK, kill="raise OSError('authored')"))

    assert deleted(process) == (143, ["execute has ended", "cancelled job 7"])


def test_the_hooks_of_an_operator_run_around_its_work(tmp_path: Path) -> None:
    process = start(tmp_path, OPERATOR.format(body="return 3", kill=""))

    code, lines = ended(process)
    assert code == 0
    assert [line.split(" of ")[0] for line in lines] == [
        "patched to Running",
        "pre_execute",
        "execute has ended",
        "post_execute with 3",
        "patched to Succeeded",
    ]


def test_a_failure_on_the_way_out_of_a_deleted_pod_is_not_reported(tmp_path: Path) -> None:
    process = start(tmp_path, GUARDED.format(then="raise OSError('authored')"))

    assert deleted(process) == (143, ["ended by Terminated"])


def test_a_result_that_is_ready_when_the_pod_is_deleted_is_reported(tmp_path: Path) -> None:
    process = start(tmp_path, GUARDED.format(then="return 1"))

    assert deleted(process) == (0, ["ended by Terminated", "patched to Succeeded"])


def test_a_thread_left_behind_does_not_keep_the_pod(tmp_path: Path) -> None:
    source = "import threading, time\ndef load(): threading.Thread(target=time.sleep, args=(60,)).start()"

    assert ended(start(tmp_path, source))[0] == 0


def test_what_the_task_registered_for_the_exit_is_run(tmp_path: Path) -> None:
    source = "import atexit\ndef load(): atexit.register(print, 'at exit')"

    assert ended(start(tmp_path, source))[1][-1] == "at exit"


def test_a_forked_child_that_returns_reports_nothing(tmp_path: Path) -> None:
    source = "import os\ndef load():\n    child = os.fork()\n    if child: os.waitpid(child, 0)"

    assert ended(start(tmp_path, source))[1].count("patched to Succeeded") == 1


def test_a_bug_of_the_runtime_does_not_look_like_a_reported_failure(tmp_path: Path) -> None:
    process = start(tmp_path, "def load(): pass", **{constants.ENV_RUNTIME: "first"})
    _, err = process.communicate(timeout=180)

    assert process.returncode == 2
    assert "TORPOR_RUNTIME is invalid" in err


def test_outside_of_a_pod_it_says_so_in_one_line() -> None:
    bare = {name: value for name, value in os.environ.items() if name != "KUBERNETES_SERVICE_HOST"}
    done = subprocess.run(
        [sys.executable, "-m", "torpor"], env=bare, capture_output=True, text=True, check=False, timeout=180
    )

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "only in pods that Torpor creates" in done.stderr


def test_the_startup_report_comes_before_user_code_and_lists_the_modules(tmp_path: Path) -> None:
    process = start(tmp_path, "print('imported')\ndef load(): pass", TORPOR_STARTUP_REPORT="1")
    code, lines = ended(process)

    assert code == 0
    assert lines[2] == "imported"
    report = json.loads(lines[1])
    assert 5 < report["cpu_ms"] < report["startup_ms"] + 20
    assert report["startup_ms"] < 30_000
    assert "torpor.runtime.main" in report["modules"]
    assert "authored" not in report["modules"]


@pytest.mark.parametrize("imported", ["pass", "from torpor import BaseSensor"])
def test_a_start_imports_nothing_heavy(imported: str) -> None:
    script = f"import sys, torpor.runtime.main; {imported}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[1:1] = {sys.path!r}; {script}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    heavy = {"asyncio", "dataclasses", "email", "http.client", "inspect", "logging", "pathlib", "random", "traceback"}
    heavy |= {"torpor.authoring"}

    assert heavy & set(done.stdout.split()) == set()


def test_reducing_in_one_frame_imports_nothing_of_several(tmp_path: Path) -> None:
    arguments = [{"name": "rows", "from": {"task": "list", "field": "results", "count": 3, "missing": "1"}}]
    modules = {"torpor_wire.instance_paths", "dataclasses"}
    source = f"import sys\ndef load(rows): print(len(rows), *{modules} & set(sys.modules))"
    process = start(tmp_path, source, ARGUMENTS=json.dumps(arguments))

    assert ended(process) == (0, ["patched to Running", "2", "patched to Succeeded"])


def test_the_files_of_source_can_be_imported_and_their_hash_is_claimed(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "authored.py").write_text("def load(): print('of the ConfigMap')")
    process = start(tmp_path, "def load(): print('of the image')", **{constants.ENV_SOURCE: str(folder)})

    claimed = f"patched to Running {launches.source_hash(str(folder))}"
    assert ended(process) == (0, [claimed, "of the ConfigMap", "patched to Succeeded"])


def test_files_that_are_not_mounted_end_the_process_before_the_claim(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(tokens.bound_to("pod-uid"))
    given = (
        os.environ
        | LAUNCH
        | {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            constants.ENV_SOURCE: str(tmp_path / "missing"),
        }
    )
    code = (
        "import sys; from torpor.runtime import main; main.constants.CREDENTIALS = sys.argv[1]; main.main(main.in_pod)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=given, capture_output=True, text=True, check=False, timeout=180
    )

    assert ran.returncode == 2
    assert "the files of source cannot be read" in ran.stderr

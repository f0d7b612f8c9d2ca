"""The guard of the process's logging; in a process of its own, since it is the whole process's."""

import importlib.util
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[4]
_STRUCTLOG = {
    "__init__.py": """
import sys
config = {"logger_factory": None}
def configure(**given): config.update(given)
def get_config(): return config
class Printing:
    def info(self, event, **given): print(event, given)
class Bound:
    def info(self, event, **given):
        line = {"event": event, **given}
        for each in config["processors"]:
            line = each(None, "info", line)
        config["logger_factory"]("structured").info(line)
def get_logger(*_):
    return Bound() if config["logger_factory"] else Printing()
""",
    "stdlib.py": "import logging\nclass BoundLogger: ...\n"
    "class LoggerFactory:\n    def __call__(self, *names): return logging.getLogger(*names)\n",
    "processors.py": "def format_exc_info(_, __, line): return line\n"
    "class KeyValueRenderer:\n    def __init__(self, key_order): pass\n"
    "    def __call__(self, _, __, line): return ' '.join(f'{k}={v!r}' for k, v in line.items())\n",
    "contextvars.py": "def merge_contextvars(_, __, line): return line\n",
}
_SCRIPT = """
import asyncio, sys
from torpor_kubernetes.timing import SystemClock
from torpor_triggerer.logs import guard as log_guard
from torpor_triggerer.logs.trigger_log import TriggerLog
class Speaker:
    tag = "[ns/wait a1 s0]"
trigger_log = TriggerLog()
guard = log_guard.LogGuard(trigger_log, sys.stderr)
guard.restore()
wait_log = trigger_log.create(Speaker())
wait_log.set_secrets(["hunter2-hunter2"])
BEGIN
"""


def run(script: str, *paths: Path) -> str:
    """What a process writes that runs this after the guard is in place."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.replace("BEGIN", script)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={"PYTHONPATH": ":".join(map(str, (*paths, *sys.path, _ROOT))), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_changes_of_logging_by_a_module_are_reported_and_restored() -> None:
    output = run("""
from tests.integration.attacks import logging_takeover
guard.check()
with wait_log.active():
    logging_takeover.say("hunter2-hunter2")
print(guard.restore())
""")
    assert "hunter2" not in output
    first, *_, last = output.splitlines()
    for words in ("logging.disable", "the class of loggers", "the handlers of the root logger", "logger taken.over"):
        assert words in first
    assert output.count("[ns/wait a1 s0]") == 8
    assert last.endswith("stdout: ()")


def test_a_handler_changed_at_run_time_is_restored_and_reported_once() -> None:
    output = run("""
log_guard.CHECK_SECONDS = 0.01
import logging
async def main():
    checking = asyncio.create_task(guard.run(SystemClock()))
    for _ in range(3):
        logging.getLogger().handlers = [logging.StreamHandler(sys.__stdout__)]
        while logging.getLogger().handlers != [guard._handler]:
            await asyncio.sleep(0.01)
    checking.cancel()
asyncio.run(main())
""")
    assert output.count("restored: the handlers of the root logger") == 1


def test_structlog_goes_through_logging_where_it_is_imported(tmp_path: Path) -> None:
    if importlib.util.find_spec("structlog") is None:
        (tmp_path / "structlog").mkdir()
        for name, text in _STRUCTLOG.items():
            (tmp_path / "structlog" / name).write_text(text)
    output = run(
        """
import structlog
guard.check()
with wait_log.active():
    structlog.get_logger("a").info("it failed", given="hunter2-hunter2")
structlog.configure(logger_factory=None)
guard.check()
with wait_log.active():
    structlog.get_logger("a").info("again", given="hunter2-hunter2")
""",
        tmp_path,
    )
    lines = output.splitlines()
    assert [line.partition("] ")[2] for line in lines] == ["event='it failed' given='***'", "event='again' given='***'"]


def test_a_line_printed_in_pieces_is_one_line_of_its_trigger() -> None:
    output = run("""
with wait_log.active():
    sys.stdout.write("hunter2-")
    sys.stdout.write("hunter2 is")
    print(" it")
sys.stderr.buffer.write(b"bytes\\n")
""")
    lines = output.splitlines()
    assert lines[0].endswith("INFO stdout: [ns/wait a1 s0] *** is it")
    assert lines[1].endswith("INFO stderr: bytes")
    assert len(lines) == 2


def test_unchanged_logging_is_not_reported() -> None:
    assert run("import logging; logging.getLogger('a.b').addHandler(logging.NullHandler()); guard.check()") == ""

"""Lets tests import what they share, `tests.support`, and spreads them over processes (`pytest -n auto`)."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what runs in the background, and so would all processes of the tests be that are interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The tests start hundreds of Python processes. Each would compile all modules if none may store the bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
sys.path.append(str(Path(__file__).parent.parent))
# No test depends on the speed of the machine.
settings.register_profile("torpor", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("torpor")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests as the processes are to take them; a run in one process keeps the order of the files."""
    if hasattr(config, "workerinput"):
        from tests.support import scheduling  # noqa: PLC0415  (needs what the path above leads to)

        items.sort(key=lambda item: scheduling.rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` means."""
    from tests.support import scheduling  # noqa: PLC0415  (as above)

    del config
    return scheduling.processes(os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process groups of tests that belong together."""
    from xdist.workermanage import NodeManager  # noqa: PLC0415  (only where xdist runs)

    from tests.support.scheduling import Scheduling  # noqa: PLC0415  (as above)

    config.option.loadscopereorder = False
    # After Ctrl-C: the processes stop the servers that they started. xdist kills them after ten seconds otherwise.
    NodeManager.EXIT_TIMEOUT = 60
    return Scheduling(config, log)

"""A control plane for one bench: new, in a state folder of its own, and ended with the bench."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torpor_dev import control_plane

from benchmarks import reaper


@contextmanager
def started(*, scheduler: bool = False, profiled: bool = False) -> Iterator[Path]:
    """The state folder of a control plane that ends with this process, even if that is killed."""
    with tempfile.TemporaryDirectory(prefix="torpor-bench-", ignore_cleanup_errors=True) as folder:
        state = Path(folder).resolve()
        with reaper.guard(state):
            try:
                control_plane.start(state, scheduler=scheduler, profiled=profiled)
                yield state
            finally:
                control_plane.stop(state)

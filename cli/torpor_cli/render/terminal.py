"""How to draw on this process's standard output."""

import shutil
import sys
from collections.abc import Mapping
from typing import Any

from torpor_cli import output, run_state
from torpor_cli.render.tree import ASCII, UNICODE, RenderOptions


def look_of(workflow: Mapping[str, Any], *, wide: bool) -> RenderOptions:
    """Return how to draw the tree of a run."""
    unicode = "utf" in (sys.stdout.encoding or "").lower()
    return RenderOptions(
        branches=UNICODE if unicode else ASCII,
        coloured=output.coloured(),
        wide=wide,
        width=shutil.get_terminal_size().columns if output.interactive() and not wide else 0,
        state=run_state.word_of(workflow),
        why=run_state.stalled(workflow),
    )

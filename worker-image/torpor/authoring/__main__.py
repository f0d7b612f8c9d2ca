"""`python -m torpor.authoring pkg.mod:ingest`: prints a Workflow and its params, or an error, as one JSON object.

The command `torpor compile` runs it in the interpreter that has the user's packages.
"""

import contextlib
import json
import os
import sys
import traceback
from importlib import import_module
from typing import Any

from torpor.authoring.workflow import Workflow

_NOT_USERS = ("<", os.path.dirname(os.path.dirname(__file__)), import_module.__code__.co_filename)  # noqa: PTH120


def answer(reference: str) -> dict[str, Any]:
    """Return `workflow` and `params`, or `error`: one line with the place in the user's code."""
    module, _, name = reference.partition(":")
    try:
        workflow = getattr(import_module(module), name, None)
        if not isinstance(workflow, Workflow):
            known = ", ".join(key for key, value in vars(sys.modules[module]).items() if isinstance(value, Workflow))
            raise TypeError(f"{module} has no @workflow function {name!r}; it has {known or 'none'}")
        return {"workflow": workflow.build({}), "params": workflow.params()}
    except Exception as error:  # noqa: BLE001 - any code of a user
        frames = traceback.extract_tb(error.__traceback__)
        own = [f"{frame.filename}:{frame.lineno}: " for frame in frames if not frame.filename.startswith(_NOT_USERS)]
        kind = "" if isinstance(error, TypeError) else f"{type(error).__name__}: "
        return {"error": f"{own[-1] if own else ''}{kind}{error}"}


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):  # the user's modules may print
        response = answer(sys.argv[1])
    sys.stdout.write(json.dumps(response))

"""Workflows as Python functions: `from torpor.authoring import workflow, wait, group`.

A function with `@workflow` builds the same object as the YAML, and has no runtime of its own: it runs once, when
`torpor compile`, `torpor submit` or `torpor run` imports it. Calls of `@task` functions inside it add tasks and return
references to their results. No process of the cluster imports this package.
"""

from torpor.authoring.build import (
    container,
    group,
    http,
    python,
    results,
    run,
    stored_file,
    text,
    use,
    wait,
)
from torpor.authoring.objects import object_task
from torpor.authoring.reference import expression
from torpor.authoring.workflow import Workflow, workflow

__all__ = [
    "Workflow",
    "container",
    "expression",
    "group",
    "http",
    "object_task",
    "python",
    "results",
    "run",
    "stored_file",
    "text",
    "use",
    "wait",
    "workflow",
]

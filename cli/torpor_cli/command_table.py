"""The commands: name, module in `commands/`, and the sentence in `torpor --help`.

A module has the click command as `NAME_command`, with `_` for `-`, for example `get_command`. It is imported only when
its command runs. To add a command, add a line. A group has a table of its own: `torpor schedule list`.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """A command of the table."""

    module: str
    help: str


class Group(NamedTuple):
    """Commands under one name."""

    help: str
    commands: Mapping[str, Entry]


SCHEDULE = Group(
    "Show, run, pause and resume Schedules.",
    {
        "list": Entry("schedules.list", "List Schedules with their next tick and last run."),
        "next": Entry("schedules.next", "Print the next ticks of a Schedule, or of a cron expression."),
        "run": Entry("schedules.run", "Start a run of a Schedule now."),
        "pause": Entry("schedules.control", "Start no further runs of a Schedule."),
        "resume": Entry("schedules.control", "Continue a paused Schedule."),
        "history": Entry("schedules.history", "List the runs of a Schedule, live and archived."),
    },
)
BACKFILL = Group(
    "Run a Schedule for a period in the past.",
    {
        "create": Entry("backfills.create", "Create the runs of a Schedule for the ticks of a period."),
        "list": Entry("backfills.list", "List Backfills with their progress."),
        "status": Entry("backfills.status", "Show the progress and the runs of a Backfill."),
        "cancel": Entry("backfills.cancel", "Start no further runs of a Backfill."),
    },
)

COMMANDS: Mapping[str, Entry | Group] = {
    "submit": Entry("submit", "Create Workflows from a file."),
    "get": Entry("get", "Show a run as a tree, and follow it with -w."),
    "graph": Entry("views.graph", "Show the graph of a file or a run, also as mermaid or dot."),
    "list": Entry("list", "List runs, live and archived."),
    "why": Entry("why", "Explain why tasks do not run now."),
    "waits": Entry("waits", "List what deferred tasks wait for."),
    "logs": Entry("logs", "Print the logs of a run, a task or an instance."),
    "timeline": Entry("timeline", "Draw when each task waited and ran."),
    "result": Entry("result", "Print or save the result of a task."),
    "compare": Entry("compare", "Compare two runs."),
    "wait": Entry("wait", "Wait for the end of runs."),
    "retry": Entry("retry", "Run failed or named tasks again."),
    "mark": Entry("instances.mark", "Set the end state of an instance by hand."),
    "resubmit": Entry("resubmit", "Create a new run from an earlier one."),
    "suspend": Entry("control", "Start no further tasks of a run."),
    "resume": Entry("control", "Continue a suspended run."),
    "stop": Entry("control", "End a run, then run its hooks."),
    "cancel": Entry("control", "End a run without its hooks."),
    "delete": Entry("control", "Delete runs."),
    "approve": Entry("approve", "Approve a task that waits for an approval."),
    "reject": Entry("approve", "Reject a task that waits for an approval."),
    "schedule": SCHEDULE,
    "backfill": BACKFILL,
    "run": Entry("local.run", "Run a Workflow, or one task, on this machine without a cluster."),
    "compile": Entry("authoring.compile", "Print the Workflow of a Python function."),
    "lint": Entry("lint", "Check files of Workflows and Schedules without a cluster."),
    "doctor": Entry("doctor", "Check the installation of Torpor."),
    "completion": Entry("completion", "Print the completion script of a shell."),
    "version": Entry("version", "Print the versions of torpor and of the cluster."),
}

"""The commands: name, module in `commands/`, and the sentence in `torpor --help`.

A module has the click command as `NAME_command`, with `_` for `-`, for example `get_command`. It is imported only when
its command runs. To add a command, add a line. A group has a table of its own: `torpor schedule list`.
"""

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command of the table."""

    module: str
    help: str


class CommandGroup(NamedTuple):
    """Commands under one name."""

    help: str
    commands: Mapping[str, CommandEntry]


SCHEDULE = CommandGroup(
    "Show, run, pause and resume Schedules.",
    {
        "list": CommandEntry("schedules.list", "List Schedules with their next tick and last run."),
        "next": CommandEntry("schedules.next", "Print the next ticks of a Schedule, or of a cron expression."),
        "run": CommandEntry("schedules.run", "Start a run of a Schedule now."),
        "pause": CommandEntry("schedules.control", "Start no further runs of a Schedule."),
        "resume": CommandEntry("schedules.control", "Continue a paused Schedule."),
        "history": CommandEntry("schedules.history", "List the runs of a Schedule, live and archived."),
    },
)
BACKFILL = CommandGroup(
    "Run a Schedule for a period in the past.",
    {
        "create": CommandEntry("backfills.create", "Create the runs of a Schedule for the ticks of a period."),
        "list": CommandEntry("backfills.progress", "List Backfills with their progress."),
        "status": CommandEntry("backfills.progress", "Show the progress and the runs of a Backfill."),
        "cancel": CommandEntry("backfills.cancel", "Start no further runs of a Backfill."),
    },
)

COMMANDS: Mapping[str, CommandEntry | CommandGroup] = {
    "submit": CommandEntry("change.submit", "Create Workflows from a file."),
    "get": CommandEntry("view.get", "Show a run as a tree, and follow it with -w."),
    "graph": CommandEntry("view.graph", "Show the graph of a file or a run, also as mermaid or dot."),
    "list": CommandEntry("view.list", "List runs, live and archived."),
    "why": CommandEntry("view.why", "Explain why tasks do not run now."),
    "waits": CommandEntry("view.waits", "List what deferred tasks wait for."),
    "logs": CommandEntry("view.logs", "Print the logs of a run, a task or an instance."),
    "timeline": CommandEntry("view.timeline", "Draw when each task waited and ran."),
    "result": CommandEntry("view.result", "Print or save the result of a run or a task."),
    "files": CommandEntry("view.files", "List or fetch the files that tasks have stored."),
    "compare": CommandEntry("view.compare", "Compare two runs."),
    "wait": CommandEntry("change.wait", "Wait for the end of runs."),
    "retry": CommandEntry("change.retry", "Run failed or named tasks again."),
    "mark": CommandEntry("change.mark", "Set the end state of an instance without running it."),
    "resubmit": CommandEntry("change.resubmit", "Create a new run from an earlier one."),
    "suspend": CommandEntry("change.control", "Start no further tasks of a run."),
    "resume": CommandEntry("change.control", "Continue a suspended run."),
    "stop": CommandEntry("change.control", "End a run, then run its hooks."),
    "cancel": CommandEntry("change.control", "End a run without its hooks."),
    "delete": CommandEntry("change.control", "Delete runs."),
    "approve": CommandEntry("change.approve", "Approve a task that waits for an approval."),
    "reject": CommandEntry("change.approve", "Reject a task that waits for an approval."),
    "schedule": SCHEDULE,
    "backfill": BACKFILL,
    "run": CommandEntry("local.run", "Run a Workflow, or one task, on this machine without a cluster."),
    "compile": CommandEntry("local.compile", "Print the Workflow of a Python function."),
    "lint": CommandEntry("local.lint", "Check files of Workflows and Schedules without a cluster."),
    "ui": CommandEntry("view.ui", "Open the page that shows runs, waits and causes, in a browser."),
    "doctor": CommandEntry("tool.doctor", "Check the installation of Torpor."),
    "completion": CommandEntry("tool.completion", "Print the completion script of a shell."),
    "version": CommandEntry("tool.version", "Print the versions of torpor and of the cluster."),
}

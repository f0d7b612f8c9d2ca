"""`torpor timeline`."""

import shutil
import sys
import time
from dataclasses import replace

import click
from torpor_client.runs import references
from torpor_client.runs.instances import check_reference, instances_at
from torpor_client.runs.references import RunReference
from torpor_views import timeline
from torpor_views.model import RunView

from torpor_cli import output
from torpor_cli.cluster.connect import connect
from torpor_cli.options import ClusterCommand, complete_reference
from torpor_cli.output import Format, output_option
from torpor_cli.render import timeline_chart, timeline_rows, timeline_svg
from torpor_cli.render.timeline_rows import Chart
from torpor_cli.runs.run_lookup import find_run
from torpor_cli.target import TargetOptions

_SVG = "svg"
_WIDTH = 100
"""Characters of a line if standard output is no terminal and COLUMNS is not set."""
_ABSENT_MAX = 10
"""Tasks that have not started, which a note names."""


@click.command("timeline", cls=ClusterCommand)
@click.argument("reference", metavar="NAME[/TASK[/INDEX]]", shell_complete=complete_reference)
@output_option(Format.WIDE, _SVG, Format.JSON, Format.YAML)
@click.pass_obj
def timeline_command(target: TargetOptions, reference: str, output_format: str) -> None:
    """Draw when each task of a run was queued, ran in a pod, or waited.

    A mapped task with more than eight instances is folded; `-o wide` shows each of them. `-o svg` writes a picture to
    standard output.
    """
    wanted = references.parse(reference)
    found_run = find_run(connect(target), wanted.run)
    run = RunView.parse(found_run.workflow, found_run.taskruns, now=time.time())
    check_reference(wanted, run)
    built = _chosen(timeline.build(run), wanted, run)
    if output_format in {Format.JSON, Format.YAML}:
        output.data(output.to_json(built), output_format)
        return
    chart = chart_of(run, built, unfold=output_format == Format.WIDE, only=wanted.task or "")
    if output_format == _SVG:
        sys.stdout.writelines(timeline_svg.draw(chart))
        return
    print_chart(chart)


def _chosen(built: timeline.Timeline, wanted: RunReference, run: RunView) -> timeline.Timeline:
    """Return the timeline with the rows that a reference names, on the time of the whole run."""
    if wanted.task is None:
        return built
    named = {instance.name for instance in instances_at(wanted, run)}
    return replace(built, rows=tuple(row for row in built.rows if row.taskrun in named))


def chart_of(run: RunView, built: timeline.Timeline, *, unfold: bool, only: str = "") -> Chart:
    """Return the chart of a run, or of one task."""
    return Chart(
        title=run.name,
        state=run.word,
        start=built.start,
        end=built.end,
        rows=timeline_rows.of_timeline(built, unfold=unfold),
        notes=tuple(_notes(run, built, only)),
    )


def _notes(run: RunView, built: timeline.Timeline, only: str) -> list[str]:
    if not built.rows:
        return ["No task has started."]
    return _absent(run, only) + _inexact(built)


def _absent(run: RunView, only: str) -> list[str]:
    """Return a sentence about the tasks without a row."""
    absent = [
        f"{task.name} ({task.word})"
        for task in run.tasks
        if not run.instances_of(task.name) and only in {"", task.name}
    ]
    shown = ", ".join(absent[:_ABSENT_MAX])
    more = f" and {len(absent) - _ABSENT_MAX} more" if len(absent) > _ABSENT_MAX else ""
    return [f"Not started: {shown}{more}."] if absent else []


def _inexact(built: timeline.Timeline) -> list[str]:
    inexact = sum(not row.exact and row.state != "Scheduled" for row in built.rows)
    if not inexact:
        return []
    verb = "has" if inexact == 1 else "have"
    return [f"{inexact} of {len(built.rows)} TaskRuns {verb} no history, so only the last attempt is drawn."]


def print_chart(chart: Chart) -> None:
    """Print a chart as wide as the terminal, with the characters that standard output can show."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    style = timeline_chart.UNICODE if unicode else timeline_chart.ASCII
    width = shutil.get_terminal_size((_WIDTH, 1)).columns
    for line in timeline_chart.draw(chart, width, style=style, colour=output.coloured()):
        output.styled(line)

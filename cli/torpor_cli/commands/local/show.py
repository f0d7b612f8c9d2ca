"""`torpor run --show`: the tree, the timeline, the failures and the results of a run in a folder."""

from pathlib import Path

from torpor_client.runs import run_state
from torpor_views import timeline, tree

from torpor_cli import output
from torpor_cli.commands.view import timeline as timelines
from torpor_cli.local_run import play, report
from torpor_cli.output import Format
from torpor_cli.render import terminal
from torpor_cli.render import tree as render
from torpor_cli.runs import exit_codes


def show(folder: str, output_format: str) -> int:
    """Show the run of a folder. Return the exit code of its outcome, 0 while it has none."""
    path = Path(folder)
    stored = play.read_run(path)
    run = stored.parse()
    ended = run_state.has_ended(stored.workflow)
    code = exit_codes.of_runs([run_state.word_of(stored.workflow)]) if ended else 0
    if output_format not in {Format.TEXT, Format.WIDE}:
        output.data(report.as_json(stored.workflow, stored.results, run, path), output_format)
        return code
    options = terminal.render_options(stored.workflow, wide=output_format == Format.WIDE)
    for line in render.lines(tree.build(run), options, waits=render.waits_of(run)):
        output.styled(line)
    output.line()
    chart = timelines.chart_of(run, timeline.build(run), unfold=output_format == Format.WIDE)
    timelines.print_chart(chart)
    output.line()
    for line in (*report.failure_lines(run, path), *report.result_lines(stored.workflow, stored.results)):
        output.line(line)
    if not ended:
        output.note(f"the run has not ended; `torpor run --resume {folder}` continues it")
    output.note(f"the logs of the pods are in {path / report.LOGS}")
    return code

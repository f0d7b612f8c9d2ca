"""`torpor compare`."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
from torpor_client.runs import references
from torpor_views import compare
from torpor_views.compare import MISSING, Comparison, Difference, Side, TaskRow
from torpor_views.model import RunView

from torpor_cli import output
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.errors import UsageError
from torpor_cli.options import ClusterCommand, complete_run
from torpor_cli.output import Format, output_option
from torpor_cli.render import timeline_axis
from torpor_cli.runs.run_lookup import find_run
from torpor_cli.target import TargetOptions

_VALUE_MAX = 60
_BEFORE = 20
_CHANGE_MIN = 0.05


@click.command("compare", cls=ClusterCommand)
@click.argument("left", metavar="A", shell_complete=complete_run)
@click.argument("right", metavar="B", shell_complete=complete_run)
@output_option(Format.WIDE, Format.JSON, Format.YAML)
@click.pass_obj
def compare_command(target: TargetOptions, left: str, right: str, output_format: str) -> None:
    """Compare two runs: params, images, code, and the outcome and duration of each task.

    Equal values are left out; `-o wide` shows them, too.
    """
    cluster = connect(target)
    comparison = compare.build(_run(cluster, left), _run(cluster, right))
    if output_format in {Format.JSON, Format.YAML}:
        output.data(output.to_json(_plain(comparison)), output_format)
        return
    for head, rows in tables(comparison, everything=output_format == Format.WIDE):
        output.print_table(head, rows)
        output.line()
    _conclude(comparison)


def _run(cluster: ClusterConnection, name: str) -> RunView:
    if references.parse(name).task is not None:
        raise UsageError(f"{name} names a task; compare takes two runs: torpor compare A B")
    run = find_run(cluster, name)
    return RunView.parse(run.workflow, run.taskruns, now=time.time())


def tables(comparison: Comparison, *, everything: bool) -> Iterator[tuple[Sequence[str], list[Sequence[str]]]]:
    """Yield the head and the rows of each table that has rows: tasks, params, images, code, ConfigMaps."""
    named = (comparison.left, comparison.right)
    if named[0] == named[1]:
        named = (f"{comparison.left} (A)", f"{comparison.right} (B)")
    rows = [_row("run", comparison.run), *(_row(row.task, row) for row in comparison.tasks)]
    yield ("TASK", *named, "DURATION A", "DURATION B", "CHANGE"), rows
    for kind, (_, differences) in zip(("PARAM", "IMAGE OF", "CODE OF", "SOURCE OF"), _kinds(comparison), strict=True):
        shown = [difference for difference in differences if everything or difference.differs]
        if shown:
            yield (kind, *named), [(difference.name, *_values(difference)) for difference in shown]


def _row(name: str, row: TaskRow) -> Sequence[str]:
    durations = [_duration(side) for side in (row.left, row.right)]
    return (name, _outcome(row.left), _outcome(row.right), *durations, _change(row))


def _outcome(side: Side | None) -> str:
    """Return the state, with the progress of a run or a mapped task, and the reason of a failure."""
    if side is None:
        return "no such task"
    progress = f" {side.progress}" if side.progress else ""
    reason = f" ({side.reason})" if side.reason and side.state not in {side.reason, "Succeeded"} else ""
    return f"{side.state}{progress}{reason}"


def _duration(side: Side | None) -> str:
    return "" if side is None or side.duration is None else timeline_axis.duration(side.duration)


def _change(row: TaskRow) -> str:
    """Return by how much the right one took longer: `+12s (+40%)`."""
    if row.change is None or row.left is None or abs(row.change) < _CHANGE_MIN:
        return ""
    sign = "-" if row.change < 0 else "+"
    base = row.left.duration or 0.0
    share = f" ({sign}{abs(row.change) / base * 100:.0f}%)" if base >= 1 else ""
    return f"{sign}{timeline_axis.duration(abs(row.change))}{share}"


def _values(difference: Difference) -> tuple[str, str]:
    """Return both values. Of long ones, it shows the part where they begin to differ."""
    left, right = (_text(value) for value in (difference.left, difference.right))
    same = next((place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    start = same - _BEFORE if difference.differs and same > _VALUE_MAX - _BEFORE else 0
    left, right = (f"...{text[start:]}" if start else text for text in (left, right))
    return output.shortened(left, _VALUE_MAX), output.shortened(right, _VALUE_MAX)


def _text(value: Any) -> str:
    if value is MISSING:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)


def _conclude(comparison: Comparison) -> None:
    same = [
        word for word, differences in _kinds(comparison) if not any(difference.differs for difference in differences)
    ]
    if same:
        output.line(f"Both runs have the same {_joined(same)}.")


def _joined(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _kinds(comparison: Comparison) -> Sequence[tuple[str, Sequence[Difference]]]:
    images, code, sources = ("images", comparison.images), ("code", comparison.code), ("source", comparison.sources)
    return ("params", comparison.params), images, code, sources


def _plain(comparison: Comparison) -> Comparison:
    """Return the comparison without the value that marks a missing one, which JSON does not have."""
    present = (tuple(map(_present, differences)) for _, differences in _kinds(comparison))
    params, images, code, sources = present
    return replace(comparison, params=params, images=images, code=code, sources=sources)


def _present(difference: Difference) -> Difference:
    return replace(
        difference,
        left=None if difference.left is MISSING else difference.left,
        right=None if difference.right is MISSING else difference.right,
    )

"""`torpor get`: a run as a tree, once or until it ends."""

import time
from collections.abc import Mapping
from typing import Any

import click
from torpor_client.runs import references, run_state
from torpor_client.runs.references import RunReference
from torpor_client.schedules import listing
from torpor_views import notifications, tree
from torpor_views.model import RunView
from torpor_views.tree import RunTree, TreeNode
from torpor_wire import instance_paths

from torpor_cli import errors, output
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.options import ClusterCommand, complete_reference, complete_task
from torpor_cli.output import Format, output_option
from torpor_cli.render import terminal
from torpor_cli.render import tree as render
from torpor_cli.runs import exit_codes, run_lookup
from torpor_cli.runs.run_lookup import FoundRun
from torpor_cli.target import TargetOptions

_EARLY = 500
"""TaskRuns from which the line of the run is printed before they are read."""
_SHOWN = 50


@click.command("get", cls=ClusterCommand)
@click.argument("name", metavar="NAME[/TASK]|@latest", shell_complete=complete_reference)
@click.option("-w", "--watch", "follow", is_flag=True, help="Follow the run until it ends; exit 3 if it fails.")
@click.option(
    "--unfold",
    multiple=True,
    metavar="TASK",
    help="Show the instances of a mapped task, or of `all`.",
    shell_complete=complete_task,
)
@output_option()
@click.pass_obj
def get_command(target: TargetOptions, name: str, follow: bool, unfold: tuple[str, ...], output_format: str) -> int:
    """Show a run as a tree.

    A mapped task is one line with counts; NAME/TASK or --unfold shows its instances.
    """
    reference, cluster = references.parse(name), connect(target)
    if follow:
        if output_format not in {Format.TEXT, Format.WIDE}:
            raise errors.UsageError("-w prints text; omit -o")
        return _follow(cluster, reference, unfold, wide=output_format == Format.WIDE)
    if output_format in {Format.TEXT, Format.WIDE}:
        _show_tree(cluster, reference, unfold, wide=output_format == Format.WIDE)
    else:
        _show_objects(cluster, reference, output_format)
    return 0


def _follow(cluster: ClusterConnection, reference: RunReference, unfold: tuple[str, ...], *, wide: bool) -> int:
    from torpor_cli.following import live  # noqa: PLC0415 - threads and watches are for -w only

    run = run_lookup.find_run_without_taskruns(cluster, reference.run)
    if not run.archived:
        return live.follow(cluster, run.workflow, wide=wide)
    _show_tree(cluster, reference, unfold, wide=wide)
    return exit_codes.of_runs([run_state.word_of(run.workflow)])


def _show_tree(cluster: ClusterConnection, reference: RunReference, unfold: tuple[str, ...], *, wide: bool) -> None:
    found_run = run_lookup.find_run_without_taskruns(cluster, reference.run)
    workflow, width, now = found_run.workflow, 0, time.time()
    options = terminal.render_options(workflow, wide=wide)
    _check_tasks(workflow, [name for name in (reference.task, *unfold) if name and name != "all"])
    early = reference.task is None and not found_run.archived and _created(workflow) > _EARLY
    if early:
        short = tree.build(RunView.parse(workflow, now=now))
        width = render.name_width(short, options)
        _print(render.head(short, options))
        output.flush()
    taskruns = found_run.taskruns if found_run.archived else run_lookup.taskruns_of(cluster, workflow)
    chosen = {*unfold, reference.task} if reference.task else set(unfold)
    run = RunView.parse(workflow, taskruns, now=now)
    built = tree.build(run, unfold=tree.ALL if "all" in chosen else {each for each in chosen if each}, limit=_SHOWN)
    if reference.task:
        built = _only(built, reference)
    drawn = render.lines(built, options, waits=render.waits_of(run), minimum=width)
    _print(drawn[2:] if early else drawn)
    for line in notifications.status_lines(workflow):
        output.note(line)
    if started := listing.origin_sentence(workflow):
        output.note(started)
    if found_run.archived:
        output.note("this run is in the archive; the cluster no longer has it")


def _print(lines: list[str]) -> None:
    for line in lines:
        output.styled(line)


def _created(workflow: Mapping[str, Any]) -> int:
    return sum(int(task.get("created") or 0) for task in (workflow.get("status") or {}).get("tasks") or ())


def _check_tasks(workflow: Mapping[str, Any], names: list[str]) -> None:
    known = [task["name"] for task in workflow["spec"].get("tasks") or ()]
    for name in names:
        if name not in known:
            raise errors.unknown("task", name, known, f"the run has {', '.join(known[:20])}")


def _only(built: RunTree, reference: RunReference) -> RunTree:
    """Return the tree with one task, or one instance of it."""
    task_node = _find(built.nodes, reference.task or "")
    nodes: tuple[TreeNode, ...] = (task_node,) if task_node else ()
    if task_node and reference.path is not None:
        wanted = f"{reference.task}/{instance_paths.written(reference.path)}"
        nodes = tuple(node for node in task_node.children if node.ref == wanted)
        if not nodes:
            known = [node.ref for node in task_node.children]
            raise errors.unknown("instance", wanted, known, f"`torpor get {built.name}/{reference.task}` lists them")
    from dataclasses import replace  # noqa: PLC0415 - most calls show the whole tree

    return replace(built, nodes=nodes)


def _find(nodes: tuple[TreeNode, ...], name: str) -> TreeNode | None:
    for node in nodes:
        if node.ref == name:
            return node
        if (below := _find(node.children, name)) is not None:
            return below
    return None


def _show_objects(cluster: ClusterConnection, reference: RunReference, output_format: str) -> None:
    if reference.task is None:
        run = run_lookup.find_run_without_taskruns(cluster, reference.run)
        output.objects([run.workflow], output_format, single=True)
        return
    chosen = _taskruns(run_lookup.find_run(cluster, reference.run), reference)
    output.objects(chosen, output_format, single=reference.path is not None and len(chosen) == 1)


def _taskruns(run: FoundRun, reference: RunReference) -> list[dict[str, Any]]:
    _check_tasks(run.workflow, [reference.task or ""])
    chosen = [item for item in run.taskruns if item["spec"].get("task") == reference.task]
    if reference.path is None:
        return chosen
    exact = [item for item in chosen if references.path_of(item) == reference.path]
    if not exact:
        known = [instance_paths.written(references.path_of(item)) for item in chosen[:20]]
        raise errors.UnknownNameError(
            f"task {reference.task} has no such instance; it has {', '.join(known) or 'none'}"
        )
    return exact

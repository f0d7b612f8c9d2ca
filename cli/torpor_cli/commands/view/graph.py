"""`torpor graph`."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from torpor_client.runs import references
from torpor_views import run_graph
from torpor_views.model import RunView
from torpor_views.run_graph import RunGraph

from torpor_cli import output
from torpor_cli.authoring import compiled
from torpor_cli.changes import manifest
from torpor_cli.cluster.connect import connect
from torpor_cli.errors import UsageError
from torpor_cli.options import ClusterCommand, complete_run
from torpor_cli.output import Format, output_option
from torpor_cli.render.graph import draw_dot, draw_mermaid
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_DRAWINGS = {"mermaid": draw_mermaid, "dot": draw_dot}


@click.command("graph", cls=ClusterCommand)
@click.argument("source", metavar="FILE|-|MODULE:FUNCTION|RUN|@latest", shell_complete=complete_run)
@output_option(*_DRAWINGS, Format.JSON, Format.YAML)
@click.pass_obj
def graph_command(target: TargetOptions, source: str, output_format: str) -> None:
    """Show the tasks of a Workflow and what each comes after: of a file, or of a run with its states.

    `-o mermaid` is a diagram for Markdown, `-o dot` one for Graphviz. A dashed edge leads from the task that returns
    the list of a group. Hooks run after all other tasks.
    """
    graph = _of_file(source) if _is_file(source) else _of_run(target, source)
    if output_format in {Format.JSON, Format.YAML}:
        output.data(output.to_json(graph), output_format)
    elif (draw := _DRAWINGS.get(output_format)) is not None:
        for line in draw(graph):
            sys.stdout.write(f"{line}\n")  # escaped
    else:
        _print(graph)


def _is_file(source: str) -> bool:
    return source == "-" or Path(source).suffix in _SUFFIXES or compiled.is_reference(source)


def _of_run(target: TargetOptions, name: str) -> RunGraph:
    if references.parse(name).task is not None:
        raise UsageError(f"{name} names a task; graph takes a run: torpor graph {references.parse(name).run}")
    run = run_lookup.find_run(connect(target), name)
    return run_graph.build(RunView.parse(run.workflow, run.taskruns, now=time.time()))


def _of_file(source: str) -> RunGraph:
    """Return the graph of the Workflow of a file, or of its only WorkflowTemplate."""
    from torpor_cli.local_run import workflow_file  # noqa: PLC0415 - most calls show a run

    if compiled.is_reference(source):
        documents: Sequence[Any] = [compiled.compile_workflow(source)]
    else:
        documents = manifest.values(source)
    templates = [
        document for document in documents if isinstance(document, dict) and document.get("kind") == "WorkflowTemplate"
    ]
    if len(documents) == len(templates) == 1:
        metadata, spec = templates[0].get("metadata"), (templates[0].get("spec") or {}).get("workflow")
    else:
        file = workflow_file.of_documents(source, documents)
        metadata, spec = file.workflow.get("metadata"), file.spec()
    named = {"name": (metadata or {}).get("name") or (metadata or {}).get("generateName")}
    return run_graph.build(RunView.parse({"metadata": named, "spec": spec}, now=0.0), states=False)


def _print(graph: RunGraph) -> None:
    """Print a line for each task, below its groups."""
    states = any(node.state for node in graph.nodes)
    rows: list[Sequence[str]] = []
    shown: tuple[str, ...] = ()
    empty = [""] * (3 if states else 2)
    for index, node in enumerate(graph.nodes):
        same = next((n for n, (a, b) in enumerate(zip(shown, node.groups, strict=False)) if a != b), len(shown))
        begun = range(min(same, len(node.groups)), len(node.groups))
        rows += [[f"{'  ' * depth}[{node.groups[depth]}]", *empty] for depth in begun]
        shown = node.groups
        state = [f"{node.state} {node.progress}".strip()] if states else []
        name = f"{'  ' * len(node.groups)}{node.name}"
        rows.append([name, *state, ", ".join(graph.after(index)), ", ".join(node.details)])
    output.print_table(["TASK", *(["STATE"] if states else []), "AFTER", "DETAILS"], rows)

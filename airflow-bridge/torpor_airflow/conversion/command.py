"""The command `torpor from-airflow`: DAG files as WorkflowTemplates and Schedules."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from torpor_airflow import source_folder
from torpor_airflow.conversion import dag_file, dag_sources, documents, finding, names
from torpor_airflow.conversion.dag_file import DagFile
from torpor_airflow.conversion.documents import ConversionTarget, DagConversion
from torpor_airflow.dag_module import DagFileError

WHOLE, PARTIAL, INVALID = 0, 1, 2
_CONNECTION = re.compile(r"(?P<id>[A-Za-z0-9_.-]+)=(?P<reference>[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9_.-]+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a DAG file, or a module such as team.dags.etl")
    parser.add_argument("--dag", action="append", default=[], help="only this DAG; may repeat")
    parser.add_argument("--image", default="airflow-tasks:dev", help="image of the tasks; by default airflow-tasks:dev")
    parser.add_argument("--pool", default="airflow", help="triggerer pool of the waits; by default airflow")
    parser.add_argument(
        "--config-map", default="airflow-dags", help="ConfigMap for the DAG files, which the tasks mount"
    )
    parser.add_argument(
        "--connection",
        action="append",
        default=[],
        metavar="ID=SECRET/KEY",
        help="the Secret of a connection, for pods and waits; may repeat",
    )
    parser.add_argument("--in-image", action="store_true", help="the image has the DAG files: write no ConfigMap")
    parser.add_argument(
        "--add-file",
        action="append",
        default=[],
        metavar="PATH",
        help="a further file below the folder of the DAG file, which a task reads; may repeat",
    )
    parser.add_argument("--check", action="store_true", help="run both, and compare the states and the results")


def run(parsed: argparse.Namespace) -> int:
    """Print the documents, and on stderr what is not in them. 0: whole, 1: something is lost, 2: not a DAG file."""
    try:
        connections = parse_connections(parsed.connection)
        files = [dag_file.read(name) for name in parsed.files]
        texts = {} if parsed.in_image else dag_sources.texts(files, parsed.add_file)
    except (DagFileError, ValueError) as error:
        sys.stderr.write(f"torpor from-airflow: {error}\n")
        return INVALID
    target = ConversionTarget(
        image=parsed.image,
        pool=parsed.pool,
        config_map=parsed.config_map if texts else "",  # a module that is installed needs none
        connections=connections,
    )
    converted = convert(files, target, parsed.dag)
    sources = [config_map(parsed.config_map, texts)] if texts else []
    sys.stdout.write(dump([*sources, *(each for _, one in converted for each in one.documents)]))
    for name in texts:
        if not name.endswith(".py"):
            sys.stderr.write(f"{name}: note: it is in the ConfigMap {parsed.config_map}, for all who may read it\n")
    for file, one in converted:
        report(file, one)
    is_same = not parsed.check or _check(converted, sources)
    return WHOLE if is_same and all(one.is_whole for _, one in converted) else PARTIAL


def parse_connections(given: Sequence[str]) -> Mapping[str, str]:
    """Return `SECRET/KEY` by connection. Raises ValueError for a text of another form."""
    connections = {}
    for text in given:
        match = _CONNECTION.fullmatch(text)
        if match is None:
            raise ValueError(f"--connection {text!r:.100}: write ID=SECRET/KEY, such as reports=report-server/uri")
        connections[match["id"]] = match["reference"]
    return connections


def config_map(name: str, texts: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the ConfigMap with the DAG files, from their texts by path."""
    data = dict(source_folder.data(texts))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _check(converted: Sequence[tuple[DagFile, DagConversion]], sources: Sequence[Mapping[str, Any]]) -> bool:
    """Run each DAG in Airflow and here, write what differs to stderr, and return whether nothing does."""
    from torpor_airflow.check import dag_check  # noqa: PLC0415 - it needs kubectl-torpor[run]

    is_same = True
    for checked in dag_check.check_all(converted, sources):
        is_same = is_same and checked.is_same
        lines = [checked.problem] if checked.problem else checked.differences
        for line in lines or [f"the same {checked.instances} states, and the same results"]:
            sys.stderr.write(f"check: {checked.dag_id}: {line}\n")
    return is_same


def dump(written: Sequence[Mapping[str, Any]]) -> str:
    """Return documents as YAML without anchors, and with texts of several lines as blocks."""
    return str(yaml.dump_all(written, Dumper=_PlainDumper, sort_keys=False, width=120, allow_unicode=True))


class _PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - a given signature
        return True


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_PlainDumper.add_representer(str, _write_text)


def convert(
    files: Sequence[DagFile], target: ConversionTarget, only: Sequence[str] = ()
) -> Sequence[tuple[DagFile, DagConversion]]:
    """Return the conversions of all DAGs of the files, or of those with these ids."""
    dags = [dag for file in files for dag in file.dags]
    made_by, known = documents.producers(dags), documents.known_dags(dags)
    converted = [
        (file, _with_files(documents.convert(dag, file.module, target, made_by, known), file, target))
        for file in files
        for dag in file.dags
        if not only or dag.dag_id in only
    ]
    by_name: dict[str, list[tuple[DagFile, DagConversion]]] = {}
    for file, one in converted:
        by_name.setdefault(names.object_name(one.dag_id), []).append((file, one))
    return [(file, _with_clashes(one, by_name[names.object_name(one.dag_id)])) for file, one in converted]


def _with_files(conversion: DagConversion, file: DagFile, target: ConversionTarget) -> DagConversion:
    """Return the conversion with what the files beside it lack."""
    left_out = dag_sources.left_out(file, conversion.dag_id) if target.config_map else ()
    found = [*conversion.findings, *file.templates[conversion.dag_id].findings, *left_out]
    return replace(conversion, findings=found)


def _with_clashes(conversion: DagConversion, same: Sequence[tuple[DagFile, DagConversion]]) -> DagConversion:
    """Return the conversion with a loss for each other DAG of `same`, whose templates have the same name."""
    name = names.object_name(conversion.dag_id)
    clashes = []
    for file, other in same:
        if other is not conversion:
            place = f"{_shown(file)}:{finding.line_of(file.lines(), other.dag_id)}"
            text = f"its template {name} is also that of {other.dag_id} in {place}: give one of them another dag_id"
            clashes.append(finding.ConversionFinding(subject=conversion.dag_id, text=text))
    return replace(conversion, findings=[*conversion.findings, *clashes])


def report(file: DagFile, conversion: DagConversion) -> None:
    """Write the findings of a DAG to stderr."""
    lines = file.lines()
    for each in conversion.findings:
        sys.stderr.write(f"{finding.written(each, _shown(file), lines)}\n")


def _shown(file: DagFile) -> str:
    """Return the path of a file as the user wrote it, or that of a module."""
    return file.name if Path(file.name).suffix == ".py" else str(file.path)

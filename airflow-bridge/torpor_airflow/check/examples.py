"""Converts and checks Airflow's own example DAGs, and writes a table of them: `make airflow-examples`."""

import argparse
import importlib
import pkgutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from torpor_airflow.check import dag_check, kept_rows
from torpor_airflow.check.dag_check import CheckedDag, CheckTools
from torpor_airflow.check.kept_rows import ExampleRow, KeptRows
from torpor_airflow.conversion import command, dag_file
from torpor_airflow.conversion.dag_file import DagFile
from torpor_airflow.conversion.documents import ConversionTarget, DagConversion
from torpor_airflow.dag_module import DagFileError

PACKAGES = ("airflow.example_dags", "airflow.providers.standard.example_dags")
_CELL_MAX = 300
_TARGET = ConversionTarget(image="airflow-tasks:dev", pool="airflow")


def modules() -> list[str]:
    """Return the modules with example DAGs that are installed."""
    found = []
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        found += [f"{package}.{each.name}" for each in pkgutil.iter_modules(path) if not each.ispkg]
    return sorted(found)


def rows(names: Sequence[str], kept: KeptRows[ExampleRow], airflow: str, folder: Path) -> Iterator[ExampleRow]:
    """Yield a row for each module that cannot be imported, then one for each DAG."""
    files = []
    for name in modules():
        try:
            files.append(dag_file.read(name))
        except DagFileError as error:
            if name in names:
                yield ExampleRow(module=name, dag_id="", reason=f"the import fails: {str(error)[:200]}")
    converted = command.convert(files, _TARGET)
    wanted = [each for each in converted if each[0].module in names]
    with dag_check.tools(folder, {"AIRFLOW__CORE__LOAD_EXAMPLES": "True"}) as tools:  # loads their plugins, too
        for file, one in wanted:
            key = kept_rows.key_of(file, one, airflow)
            row = kept.find(key)
            if row is None:
                row = _row(file, one, converted, tools)
                kept.add(key, row)
            yield row


def _row(
    file: DagFile, conversion: DagConversion, converted: Sequence[tuple[DagFile, DagConversion]], tools: CheckTools
) -> ExampleRow:
    """Return the row of a DAG. One that loses something is not run."""
    losses = [f"{each.subject}: {each.text}" for each in conversion.findings if each.is_loss]
    if losses:
        return ExampleRow(module=file.module, dag_id=conversion.dag_id, reason="; ".join(losses))
    checked = dag_check.check(file, conversion, converted, tools)
    return ExampleRow(module=file.module, dag_id=conversion.dag_id, state=checked.state, reason=_difference(checked))


def _difference(checked: CheckedDag) -> str:
    return "" if checked.is_same else checked.problem or "; ".join(checked.differences)


def page(found: Sequence[ExampleRow], airflow: str) -> str:
    """Return the page with the table of the rows."""
    whole = sum(row.is_whole for row in found)
    failing = sum(row.is_whole and row.state != "Succeeded" for row in found)
    lines = [
        "# Example DAGs of Airflow",
        "",
        f"`make airflow-examples` converts the example DAGs of Airflow {airflow} and of its standard provider, and",
        "runs each one in Airflow and in Torpor. A DAG is whole if the conversion loses nothing, and both runs have",
        f"the same states and results. {whole} of {len(found)} are whole. Of these, {failing} fail in both runs, for",
        "example without a network. [Convert a DAG of Airflow](../how-to/convert-a-dag.md) explains the command.",
        "",
        "| DAG | Whole | State of both runs, or why not |",
        "| --- | --- | --- |",
        *(
            f"| `{row.dag_id or row.module}` | {'yes' if row.is_whole else 'no'} | `{_cell(row.reason or row.state)}` |"
            for row in found
        ),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a text for a cell: one line, without markup."""
    plain = " ".join(text.split()).replace("|", "/").replace("`", "'").replace("<", "(").replace(">", ")")
    return plain if len(plain) <= _CELL_MAX else f"{plain[: _CELL_MAX - 3]}..."


def main() -> int:
    """Print a row for each DAG of the modules that are arguments, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="only these modules")
    parser.add_argument("--into", type=Path, help="the page to write")
    parser.add_argument("--keep", type=Path, help="a file for rows that are whole, so that the next run goes on")
    parsed = parser.parse_args()
    airflow = metadata.version("apache-airflow-core")
    found: list[ExampleRow] = []
    begun = time.monotonic()
    kept = KeptRows(row_type=ExampleRow, is_right=lambda row: row.is_whole, path=parsed.keep)
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(parsed.modules or modules(), kept, airflow, Path(folder)):
            found.append(row)
            spent = time.monotonic() - begun
            sys.stdout.write(f"{spent:5.0f} s  {row.dag_id or row.module}  {row.reason or f'whole, {row.state}'}\n")
            sys.stdout.flush()
    counts = Counter(row.is_whole for row in found)
    sys.stdout.write(f"{counts[True]} of {len(found)} DAGs are whole\n")
    if parsed.into is not None:
        parsed.into.write_text(page(found, airflow))
    return 0


if __name__ == "__main__":
    sys.exit(main())

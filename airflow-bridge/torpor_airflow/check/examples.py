"""Converts and checks Airflow's own example DAGs, and writes a table of them: `make airflow-examples`."""

import argparse
import importlib
import pkgutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from torpor_airflow.check import dag_check
from torpor_airflow.check.dag_check import CheckedDag
from torpor_airflow.conversion import command, dag_file
from torpor_airflow.conversion.documents import ConversionTarget, DagConversion
from torpor_airflow.dag_module import DagFileError

PACKAGES = ("airflow.example_dags", "airflow.providers.standard.example_dags")
_CELL_MAX = 300
_TARGET = ConversionTarget(image="airflow-tasks:dev", pool="airflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleRow:
    """A DAG of the examples. `reason`: why it is not whole."""

    module: str
    dag_id: str
    reason: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the conversion loses nothing, and both runs were the same."""
        return not self.reason


def modules() -> list[str]:
    """Return the modules with example DAGs that are installed."""
    found = []
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        found += [f"{package}.{each.name}" for each in pkgutil.iter_modules(path) if not each.ispkg]
    return sorted(found)


def rows(names: Sequence[str], folder: Path) -> Iterator[ExampleRow]:
    """Yield a row for each DAG of the modules, after its check."""
    with dag_check.tools(folder) as tools:
        for name in names:
            try:
                file = dag_file.read(name)
            except DagFileError as error:
                yield ExampleRow(module=name, dag_id="", reason=f"the import fails: {str(error)[:200]}")
                continue
            converted = [one for _, one in command.convert([file], _TARGET)]
            templates = [one.documents[0] for one in converted]
            for one in converted:
                checked = dag_check.check(file, one, templates, tools)
                yield ExampleRow(module=name, dag_id=one.dag_id, reason=_reason(one, checked))


def _reason(conversion: DagConversion, checked: CheckedDag) -> str:
    losses = [f"{each.subject}: {each.text}" for each in conversion.findings if each.is_loss]
    differing = [] if checked.is_same else [checked.problem or "; ".join(checked.differences)]
    return "; ".join([*losses, *differing])


def page(found: Sequence[ExampleRow], airflow: str) -> str:
    """Return the page with the table of the rows."""
    whole = sum(row.is_whole for row in found)
    lines = [
        "# Example DAGs of Airflow",
        "",
        f"`make airflow-examples` converts the example DAGs of Airflow {airflow} and of its standard provider, and",
        f"runs each one in Airflow and in Torpor. {whole} of {len(found)} are whole: the conversion loses nothing, and",
        "both runs have the same states and results. [Convert a DAG of Airflow](../how-to/convert-a-dag.md) explains",
        "the command.",
        "",
        "| DAG | Whole | Why not |",
        "| --- | --- | --- |",
        *(
            f"| `{row.dag_id or row.module}` | {'yes' if row.is_whole else 'no'} | {_cell(row.reason)} |"
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
    parsed = parser.parse_args()
    found: list[ExampleRow] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(parsed.modules or modules(), Path(folder)):
            found.append(row)
            sys.stdout.write(
                f"{time.monotonic() - begun:5.0f} s  {row.dag_id or row.module}  {row.reason or 'whole'}\n"
            )
            sys.stdout.flush()
    sys.stdout.write(f"{sum(row.is_whole for row in found)} of {len(found)} DAGs are whole\n")
    if parsed.into is not None:
        parsed.into.write_text(page(found, metadata.version("apache-airflow-core")))
    return 0


if __name__ == "__main__":
    sys.exit(main())

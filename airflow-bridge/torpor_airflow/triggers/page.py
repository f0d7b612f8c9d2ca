"""Writes the page with the trigger classes of the installed providers, and what each needs: `make airflow-triggers`."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from torpor_airflow.triggers import catalog, classification
from torpor_airflow.triggers.classification import Support

_RULE = "airflow.providers.**"
_PACKAGE = "apache-airflow-providers-"
Row = tuple[str, str, str]


def page(rows: Sequence[Row], versions: Mapping[str, str]) -> str:
    """Return the page. `rows` have class path, support and detail; `versions` are those of the providers."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        families.setdefault(_family(row[0]), []).append(row)
    counts = Counter(support for _, support, _ in rows)
    return "\n".join(
        [
            "# Triggers of Airflow's providers",
            "",
            f"{len(rows)} trigger classes of {len(families)} providers: {counts[Support.AS_IS.value]} run as they are,",
            f"{counts[Support.CONNECTION.value]} need a connection, and {counts[Support.IMPOSSIBLE.value]} cannot run.",
            "`make airflow-triggers` writes the page from the source of each class.",
            "[Use Airflow's providers](../how-to/use-airflow-providers.md) explains how.",
            *(line for name in sorted(families) for line in _section(name, families[name], versions)),
            "",
        ]
    )


def _section(family: str, rows: Sequence[Row], versions: Mapping[str, str]) -> Iterator[str]:
    version = versions.get(family.replace(".", "-"), "")
    yield from ("", f"## {family} {version}".rstrip(), "", "| Class | Support | Why |", "| --- | --- | --- |")
    prefix = f"airflow.providers.{family}.triggers."
    for path, support, detail in rows:
        yield f"| `{path.removeprefix(prefix)}` | {support} | {_cell(detail)} |"


def _family(path: str) -> str:
    """Return the provider of a class, such as `cncf.kubernetes`."""
    return path.removeprefix("airflow.providers.").partition(".triggers.")[0]


def _cell(detail: str) -> str:
    """Return a detail for a cell: one line, without markup."""
    return " ".join(detail.split()).replace("|", "/").replace("<", "(").replace(">", ")")[:200]


def main() -> int:
    """Write the page to the path that is the argument."""
    rows = list(classification.rows(catalog.load_classes(_RULE)))
    versions = {
        name.removeprefix(_PACKAGE): each.version
        for each in metadata.distributions()
        if (name := str(each.metadata["Name"])).startswith(_PACKAGE)
    }
    Path(sys.argv[1]).write_text(page(rows, versions))
    return 0


if __name__ == "__main__":
    sys.exit(main())
